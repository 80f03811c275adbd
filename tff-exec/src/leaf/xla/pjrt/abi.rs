//! The memory layout of PJRT's C API, as far as it is used here: the structs its functions take, and
//! where in a plugin's table the functions are.
//!
//! The API grows: the table and the structs get longer, and nothing in them moves. Every struct
//! begins with its size, by which each side sees how much of it the other one knows.

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;
use std::ptr::NonNull;
use tff_types::DType;

/// A pointer to something that only the plugin reads; null if there is nothing.
pub(super) type Pointer<T> = Option<NonNull<T>>;

/// A function of the table, which returns null where nothing went wrong.
pub(super) type Function<A> = unsafe extern "C" fn(*mut A) -> Pointer<Error>;

/// A function of the table that cannot fail.
pub(super) type Infallible<A> = unsafe extern "C" fn(*mut A);

/// The function that a plugin exports, `GetPjrtApi`.
pub(super) type GetApi = unsafe extern "C" fn() -> *const Header;

opaque!(Error, Event, Client, Device, DeviceDescription, Memory, Executable, LoadedExecutable, Buffer);

/// What the table of functions begins with.
#[repr(C)]
pub(super) struct Header {
    /// The bytes of header and table together.
    pub(super) size: usize,
    pub(super) extension: *const Extension,
    pub(super) version_size: usize,
    pub(super) version_extension: *const c_void,
    pub(super) major: c_int,
    pub(super) minor: c_int,
}

/// What each extension of the API begins with; they are a list.
#[repr(C)]
pub(super) struct Extension {
    pub(super) size: usize,
    pub(super) kind: c_int,
    pub(super) next: *const Extension,
}

/// The [`Extension`] for handlers of custom calls.
pub(super) const HANDLERS_EXTENSION: c_int = 5;

/// That extension, up to the function that is used.
#[repr(C)]
pub(super) struct HandlersExtension {
    pub(super) base: Extension,
    pub(super) register_type: Pointer<c_void>,
    pub(super) add_user_data: Pointer<c_void>,
    pub(super) register_handler: Option<Function<RegisterHandler>>,
}

/// The only struct of the API without a place for extensions.
#[repr(C)]
pub(super) struct RegisterHandler {
    pub(super) size: usize,
    pub(super) name: Pointer<u8>,
    pub(super) name_len: usize,
    pub(super) function: Pointer<c_void>,
    pub(super) platform: Pointer<u8>,
    pub(super) platform_len: usize,
    pub(super) traits: c_int,
}

/// Declares structs of the API, each with a default of zeros and nulls that says its own size:
/// that up to the end of its last field, as the API counts.
macro_rules! structs {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $ty:ty),* $(,)? })*) => { $(
        $(#[$doc])*
        #[repr(C)]
        pub(super) struct $name {
            pub(super) size: usize,
            pub(super) extension: Pointer<c_void>,
            $(pub(super) $field: $ty,)*
        }

        impl Default for $name {
            fn default() -> Self {
                let ends = [
                    offset_of!(Self, extension) + size_of::<Pointer<c_void>>(),
                    $(offset_of!(Self, $field) + size_of::<$ty>(),)*
                ];
                let size = ends.into_iter().fold(0, usize::max);
                Self { size, extension: None, $($field: Default::default(),)* }
            }
        }
    )* };
}

structs! {
    Nothing {}
    OfError { error: Pointer<Error> }
    OfEvent { event: Pointer<Event> }
    OfExecutable { executable: Pointer<Executable> }
    OfLoadedExecutable { executable: Pointer<LoadedExecutable> }
    OfBuffer { buffer: Pointer<Buffer> }
    ErrorMessage { error: Pointer<Error>, message: Pointer<u8>, len: usize }
    ErrorCode { error: Pointer<Error>, code: c_int }
    NamedValue {
        name: Pointer<u8>,
        name_len: usize,
        kind: c_int,
        value: NamedContent,
        len: usize,
    }
    ClientCreate {
        options: Pointer<NamedValue>,
        n_options: usize,
        get: Pointer<c_void>,
        get_argument: Pointer<c_void>,
        put: Pointer<c_void>,
        put_argument: Pointer<c_void>,
        client: Pointer<Client>,
        try_get: Pointer<c_void>,
        try_get_argument: Pointer<c_void>,
    }
    ClientPlatformName { client: Pointer<Client>, name: Pointer<u8>, len: usize }
    ClientDevices { client: Pointer<Client>, devices: Pointer<Pointer<Device>>, n_devices: usize }
    GetDescription { device: Pointer<Device>, description: Pointer<DeviceDescription> }
    DescriptionId { description: Pointer<DeviceDescription>, id: c_int }
    Program { code: Pointer<u8>, len: usize, format: Pointer<u8>, format_len: usize }
    ClientCompile {
        client: Pointer<Client>,
        program: Pointer<Program>,
        options: Pointer<u8>,
        options_len: usize,
        executable: Pointer<LoadedExecutable>,
    }
    BufferFromHost {
        client: Pointer<Client>,
        data: Pointer<u8>,
        element_type: c_int,
        dims: Pointer<i64>,
        n_dims: usize,
        strides: Pointer<i64>,
        n_strides: usize,
        semantics: c_int,
        device: Pointer<Device>,
        memory: Pointer<Memory>,
        layout: Pointer<Layout>,
        done_with_host_buffer: Pointer<Event>,
        buffer: Pointer<Buffer>,
    }
    GetExecutable { loaded: Pointer<LoadedExecutable>, executable: Pointer<Executable> }
    NumOutputs { executable: Pointer<Executable>, n_outputs: usize }
    ExecuteOptions {
        send_callbacks: Pointer<c_void>,
        receive_callbacks: Pointer<c_void>,
        n_send: usize,
        n_receive: usize,
        launch_id: c_int,
        non_donatable: Pointer<i64>,
        n_non_donatable: usize,
        context: Pointer<c_void>,
        call_location: Pointer<c_char>,
        n_tasks: usize,
        task_ids: Pointer<c_int>,
        incarnation_ids: Pointer<i64>,
        multi_slice_config: Pointer<c_void>,
    }
    Execute {
        executable: Pointer<LoadedExecutable>,
        options: Pointer<ExecuteOptions>,
        argument_lists: Pointer<Pointer<Pointer<Buffer>>>,
        n_devices: usize,
        n_arguments: usize,
        output_lists: Pointer<Pointer<Pointer<Buffer>>>,
        complete_events: Pointer<Pointer<Event>>,
        device: Pointer<Device>,
    }
    BufferElementType { buffer: Pointer<Buffer>, element_type: c_int }
    BufferDimensions { buffer: Pointer<Buffer>, dims: Pointer<i64>, n_dims: usize }
    BufferGetLayout { buffer: Pointer<Buffer>, layout: Layout }
    BufferSize { buffer: Pointer<Buffer>, len: usize }
    BufferToHost {
        buffer: Pointer<Buffer>,
        layout: Pointer<Layout>,
        destination: Pointer<u8>,
        len: usize,
        event: Pointer<Event>,
    }
    BufferIsOnCpu { buffer: Pointer<Buffer>, is_on_cpu: u8 }
    BufferMemory { buffer: Pointer<Buffer>, data: Pointer<u8> }
    /// How the elements lie: here always by the order of the dimensions. The other variant of the
    /// API's union is shorter.
    Layout { order: Order, kind: c_int }
    /// The dimensions from the one whose elements are closest together, and tiles.
    Order {
        minor_to_major: Pointer<i64>,
        len: usize,
        tile_dims: Pointer<i64>,
        tile_lens: Pointer<usize>,
        n_tiles: usize,
    }
}

/// The content of a [`NamedValue`], by its kind: 0 a text, 1 an integer, 2 a list of integers, 3 a
/// float, 4 a truth value.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) union NamedContent {
    pub(super) text: Pointer<u8>,
    pub(super) integer: i64,
    pub(super) integers: Pointer<i64>,
    pub(super) float: f32,
    pub(super) truth: bool,
}

impl Default for NamedContent {
    fn default() -> Self {
        Self { integer: 0 }
    }
}

/// The [`Layout`] that is an order of dimensions.
pub(super) const LAYOUT_ORDER: c_int = 0;

/// The semantics of an upload: the data are copied before the call returns.
pub(super) const ONLY_DURING_CALL: c_int = 0;

/// PJRT's numbers of the element types: all but strings. XLA's messages number some of them otherwise.
pub(super) const ELEMENT_TYPES: [(DType, c_int); 15] = [
    (DType::Bool, 1),
    (DType::Int8, 2),
    (DType::Int16, 3),
    (DType::Int32, 4),
    (DType::Int64, 5),
    (DType::UInt8, 6),
    (DType::UInt16, 7),
    (DType::UInt32, 8),
    (DType::UInt64, 9),
    (DType::Float16, 10),
    (DType::Float32, 11),
    (DType::Float64, 12),
    (DType::BFloat16, 13),
    (DType::Complex64, 14),
    (DType::Complex128, 15),
];

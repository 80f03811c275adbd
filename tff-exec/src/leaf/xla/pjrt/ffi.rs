//! The unsafe corner: a plugin's functions behind safe ones. Every other file of the leaf is safe
//! code over these.
//!
//! The safety arguments rest on one fact: a plugin does what PJRT's C API says; the operator
//! chooses it. Data from a sender is passed on as bytes with their length, and is checked before.
#![expect(unsafe_code, reason = "calls into a plugin, and views of memory that it owns")]

use super::OptionValue;
use super::abi::{self, Function, Pointer};
use crate::leaf::xla::runtime::Failure;
use crate::values::status_code;
use bytes::Bytes;
use libloading::Library;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::mem::offset_of;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;
use tff_ir::{Array, ArrayError};
use tff_types::DType;

// Arrays are little-endian, the device's elements are native: views of one another need both equal.
const _: () = assert!(cfg!(target_endian = "little"));

/// The version of the API whose structs are declared here. What is older may not know all of their
/// fields, such as those that keep a run from overwriting its arguments.
const VERSION: (c_int, c_int) = (0, 75);

/// Options that a plugin is given unless it refuses them. The one for CPUs starts a run on a thread of its own
/// otherwise, although whoever starts one waits for it: two changes of threads in each run.
const OWN_OPTIONS: [(&str, OptionValue); 1] = [("asynchronous", OptionValue::Bool(false))];

macro_rules! table {
    ($($name:ident: $index:literal $ty:ty),* $(,)?) => {
        /// The functions that are used, out of a plugin's table.
        struct Table {
            $($name: $ty,)*
            register_handler: Option<Function<abi::RegisterHandler>>,
        }

        impl Table {
            /// # Safety
            /// What begins with the header must be as long as it says, and be the table of a plugin.
            unsafe fn read(header: &abi::Header) -> Result<Self, String> {
                Ok(Self {
                    $($name: {
                        let entry = entry(header, $index).ok_or(concat!("has no function ", stringify!($name)))?;
                        // SAFETY: the caller says that this is a plugin's table. Its entries are
                        // functions, always the same at the same index, and that one is of this type.
                        unsafe { std::mem::transmute::<NonNull<()>, $ty>(entry) }
                    },)*
                    register_handler: register_handler(header),
                })
            }
        }
    };
}

table! {
    error_destroy: 0 abi::Infallible<abi::OfError>,
    error_message: 1 abi::Infallible<abi::ErrorMessage>,
    error_get_code: 2 Function<abi::ErrorCode>,
    plugin_initialize: 3 Function<abi::Nothing>,
    event_destroy: 5 Function<abi::OfEvent>,
    event_await: 8 Function<abi::OfEvent>,
    client_create: 10 Function<abi::ClientCreate>,
    client_platform_name: 12 Function<abi::ClientPlatformName>,
    client_addressable_devices: 16 Function<abi::ClientDevices>,
    client_compile: 20 Function<abi::ClientCompile>,
    client_buffer_from_host_buffer: 22 Function<abi::BufferFromHost>,
    device_description_id: 23 Function<abi::DescriptionId>,
    device_get_description: 29 Function<abi::GetDescription>,
    executable_destroy: 40 Function<abi::OfExecutable>,
    executable_num_outputs: 44 Function<abi::NumOutputs>,
    loaded_executable_destroy: 50 Function<abi::OfLoadedExecutable>,
    loaded_executable_get_executable: 51 Function<abi::GetExecutable>,
    loaded_executable_execute: 55 Function<abi::Execute>,
    buffer_destroy: 58 Function<abi::OfBuffer>,
    buffer_element_type: 59 Function<abi::BufferElementType>,
    buffer_dimensions: 60 Function<abi::BufferDimensions>,
    buffer_get_memory_layout: 63 Function<abi::BufferGetLayout>,
    buffer_on_device_size: 64 Function<abi::BufferSize>,
    buffer_to_host_buffer: 70 Function<abi::BufferToHost>,
    buffer_is_on_cpu: 71 Function<abi::BufferIsOnCpu>,
    buffer_increase_external_reference_count: 74 Function<abi::OfBuffer>,
    buffer_decrease_external_reference_count: 75 Function<abi::OfBuffer>,
    buffer_opaque_device_memory: 76 Function<abi::BufferMemory>,
}

/// A function that modules may call by a name, in XLA's typed calling convention: linear algebra is such calls.
#[derive(Clone, Debug)]
pub struct Handler {
    name: String,
    function: NonNull<c_void>,
}

// SAFETY: it is the address of code; whoever made it says that any thread may call it.
unsafe impl Send for Handler {}

impl Handler {
    /// A handler under this name.
    ///
    /// # Safety
    /// `function` must be an `XLA_FFI_Handler` that stays loaded for the rest of the process. Any thread may call it,
    /// with the arguments and the attributes that a module decides: it must check them itself.
    #[must_use]
    pub const unsafe fn new(name: String, function: NonNull<c_void>) -> Self {
        Self { name, function }
    }
}

/// The platform of handlers that run on the CPU, as XLA calls it.
const HANDLERS_PLATFORM: &[u8] = b"Host";

/// The function with which a plugin takes handlers; `None` where it has none of the form that is declared here.
fn register_handler(header: &abi::Header) -> Option<Function<abi::RegisterHandler>> {
    let mut extension = header.extension;
    // SAFETY: a plugin's extensions live as long as it, are a list that ends with a null, and begin with this struct.
    while let Some(found) = unsafe { extension.as_ref() } {
        if found.kind == abi::HANDLERS_EXTENSION && found.size >= size_of::<abi::HandlersExtension>() {
            // SAFETY: an extension of this kind is this struct, and it is long enough.
            return unsafe { &*extension.cast::<abi::HandlersExtension>() }.register_handler;
        }
        extension = found.next;
    }
    None
}

/// The function at an index of the table; `None` beyond its end, and for what the plugin left out.
fn entry(header: &abi::Header, index: usize) -> Option<NonNull<()>> {
    let offset = size_of::<abi::Header>() + index * size_of::<Pointer<()>>();
    if offset + size_of::<Pointer<()>>() > header.size {
        return None;
    }
    let table: *const abi::Header = header;
    // SAFETY: header and table are `header.size` bytes, in which the entry was just found to be.
    unsafe { table.cast::<u8>().add(offset).cast::<Pointer<()>>().read() }
}

/// A client of a plugin, on one device. It is never closed: the plugin has threads of its own, and
/// code that runs when the process ends.
pub(in super::super) struct Client {
    table: Table,
    client: NonNull<abi::Client>,
    device: NonNull<abi::Device>,
    /// The number by which modules know the device.
    device_id: i64,
    platform: String,
}

// SAFETY: the API says that a client may be used by any threads, also at the same time.
unsafe impl Send for Client {}
// SAFETY: as above.
unsafe impl Sync for Client {}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("platform", &self.platform).finish_non_exhaustive()
    }
}

impl Client {
    /// Opens a plugin for the rest of the process, and a client with these options on the device at
    /// this position.
    ///
    /// # Errors
    /// What is wrong with the file, as what follows its name.
    pub(super) fn open(path: &Path, options: &[(String, OptionValue)], device: usize) -> Result<&'static Self, String> {
        let table = open(path)?;
        let unusable = |failure: Failure| format!("cannot be used: {failure}");
        // SAFETY: the function takes nothing but its own struct.
        unsafe { table.call(table.plugin_initialize, &mut abi::Nothing::default()) }.map_err(unusable)?;
        let client = match table.create(options, &OWN_OPTIONS).or_else(|_| table.create(options, &[])) {
            Ok(client) => client.ok_or("gives no client")?,
            Err(error) if options.is_empty() => return Err(unusable(error)),
            Err(error) => {
                let options: Vec<String> = options.iter().map(|(name, value)| format!("{name}={value}")).collect();
                return Err(format!("cannot be used: with the options {}: {error}", options.join(", ")));
            }
        };

        let mut listed = abi::ClientDevices { client: Some(client), ..Default::default() };
        // SAFETY: the client is alive.
        unsafe { table.call(table.client_addressable_devices, &mut listed) }.map_err(unusable)?;
        // SAFETY: the list is of this length, and lives as long as the client.
        let devices = unsafe { slice(listed.devices, listed.n_devices) };
        let found = devices.get(device).copied().flatten();
        let device = found.ok_or_else(|| format!("has no device {device}: it has {}", devices.len()))?;
        let mut described = abi::GetDescription { device: Some(device), ..Default::default() };
        // SAFETY: the device lives as long as the client, and so does its description.
        let device_id = unsafe {
            table.call(table.device_get_description, &mut described).map_err(unusable)?;
            let mut got = abi::DescriptionId { description: described.description, ..Default::default() };
            table.call(table.device_description_id, &mut got).map_err(unusable)?;
            i64::from(got.id)
        };

        let mut named = abi::ClientPlatformName { client: Some(client), ..Default::default() };
        // SAFETY: the client is alive.
        unsafe { table.call(table.client_platform_name, &mut named) }.map_err(unusable)?;
        // SAFETY: the name is of this length and lives as long as the client.
        let platform = unsafe { text(named.name, named.len) };
        Ok(Box::leak(Box::new(Self { table, client, device, device_id, platform })))
    }

    /// The number by which modules know the device.
    pub(super) const fn device_id(&self) -> i64 {
        self.device_id
    }

    /// What the device is: `cpu`.
    pub(super) fn platform(&self) -> &str {
        &self.platform
    }

    /// Gives the plugin a handler, for modules that are compiled from now on, unless it has one of that name.
    ///
    /// # Errors
    /// The plugin's message, also where it has one; that it takes none.
    pub(super) fn register(&self, handler: &Handler) -> Result<(), Failure> {
        let register = self.table.register_handler.ok_or("the plugin takes no handlers")?;
        let mut arguments = abi::RegisterHandler {
            size: offset_of!(abi::RegisterHandler, traits) + size_of::<c_int>(),
            name: start(handler.name.as_bytes()),
            name_len: handler.name.len(),
            function: Some(handler.function),
            platform: start(HANDLERS_PLATFORM),
            platform_len: HANDLERS_PLATFORM.len(),
            traits: 0,
        };
        // SAFETY: the texts are as long as is said, and are read during the call only. What the function is was said
        // as the handler was made.
        unsafe { self.table.call(register, &mut arguments) }
    }

    /// Compiles a module, an `xla.HloModuleProto`, with these options, a `CompileOptionsProto`.
    ///
    /// # Errors
    /// The plugin's message.
    pub(super) fn compile(&'static self, module: &[u8], options: &[u8]) -> Result<Executable, Failure> {
        const FORMAT: &[u8] = b"hlo";
        let program = abi::Program {
            code: start(module),
            len: module.len(),
            format: start(FORMAT),
            format_len: FORMAT.len(),
            ..Default::default()
        };
        let mut compiled = abi::ClientCompile {
            client: Some(self.client),
            program: Some(NonNull::from(&program)),
            options: start(options),
            options_len: options.len(),
            ..Default::default()
        };
        // SAFETY: the client is alive; each pointer is of as many bytes as the length beside it
        // says, and the plugin reads them during the call only.
        unsafe { self.table.call(self.table.client_compile, &mut compiled) }?;
        let executable = compiled.executable.ok_or("the plugin gave no executable")?;
        let mut executable = Executable { client: self, executable, n_outputs: 0 };
        executable.n_outputs = executable.count_outputs()?;
        Ok(executable)
    }

    /// Copies an array to the device.
    ///
    /// # Errors
    /// The plugin's message; that the array is of strings, or has a size beyond the API's.
    pub(super) fn upload(&'static self, array: &Array) -> Result<Buffer, Failure> {
        let (dtype, dims) = (array.dtype(), array.dims());
        let number = abi::ELEMENT_TYPES.iter().find(|(known, _)| *known == dtype).map(|(_, number)| *number);
        let (Some(element_type), Some(element_size), Some(data)) = (number, dtype.size(), array.as_dense()) else {
            return Err(Failure::from(format!("XLA has no {dtype}")));
        };
        let sizes: Result<Vec<i64>, _> = dims.iter().map(|&dim| i64::try_from(dim)).collect();
        let sizes = sizes.map_err(|_| ArrayError::TooLarge(dims.to_vec()))?;
        let size = dims.iter().try_fold(element_size, |size, &dim| size.checked_mul(usize::try_from(dim).ok()?));
        if size != Some(data.len()) {
            return Err(format!("{} bytes are not an array of sizes {dims:?}", data.len()).into());
        }
        let mut uploaded = abi::BufferFromHost {
            client: Some(self.client),
            data: start(data),
            element_type,
            dims: start(&sizes),
            n_dims: sizes.len(),
            semantics: abi::ONLY_DURING_CALL,
            device: Some(self.device),
            ..Default::default()
        };
        // SAFETY: client and device are alive. The data are as many bytes as type and sizes say,
        // which was just checked; without strides the plugin takes them as row-major. It reads
        // them during the call only, which is what the semantics say.
        unsafe { self.table.call(self.table.client_buffer_from_host_buffer, &mut uploaded) }?;
        let buffer = Buffer { client: self, buffer: uploaded.buffer.ok_or("the plugin gave no buffer")? };
        // SAFETY: the event was given to us by the call before.
        unsafe { self.wait(uploaded.done_with_host_buffer) }?;
        Ok(buffer)
    }

    /// Waits for an event and frees it; a null is one that has happened.
    ///
    /// # Safety
    /// It must be null, or an event of the plugin that nothing else frees.
    unsafe fn wait(&self, event: Pointer<abi::Event>) -> Result<(), Failure> {
        if event.is_none() {
            return Ok(());
        }
        // SAFETY: the caller's.
        unsafe {
            let awaited = self.table.call(self.table.event_await, &mut abi::OfEvent { event, ..Default::default() });
            let freed = self.table.call(self.table.event_destroy, &mut abi::OfEvent { event, ..Default::default() });
            awaited.and(freed)
        }
    }
}

/// A compiled module.
pub(in super::super) struct Executable {
    client: &'static Client,
    executable: NonNull<abi::LoadedExecutable>,
    n_outputs: usize,
}

// SAFETY: the API says that an executable may be used by any threads, also at the same time.
unsafe impl Send for Executable {}
// SAFETY: as above.
unsafe impl Sync for Executable {}

impl Drop for Executable {
    fn drop(&mut self) {
        let table = &self.client.table;
        let mut arguments = abi::OfLoadedExecutable { executable: Some(self.executable), ..Default::default() };
        // SAFETY: the executable is alive, and nothing uses it afterwards. Nothing can be done
        // about a failure.
        let _ = unsafe { table.call(table.loaded_executable_destroy, &mut arguments) };
    }
}

impl Executable {
    fn count_outputs(&self) -> Result<usize, Failure> {
        let table = &self.client.table;
        let mut got = abi::GetExecutable { loaded: Some(self.executable), ..Default::default() };
        // SAFETY: the loaded executable is alive.
        unsafe { table.call(table.loaded_executable_get_executable, &mut got) }?;
        let mut counted = abi::NumOutputs { executable: got.executable, ..Default::default() };
        // SAFETY: the executable was given to us by the call before, is used here and freed.
        unsafe {
            let result = table.call(table.executable_num_outputs, &mut counted);
            let mut freed = abi::OfExecutable { executable: got.executable, ..Default::default() };
            result.and(table.call(table.executable_destroy, &mut freed))?;
        }
        Ok(counted.n_outputs)
    }

    /// Runs the module; the results are complete when it returns.
    ///
    /// # Errors
    /// The plugin's message, also for a wrong number of arguments or one of a wrong size; that an
    /// argument is another client's.
    pub(super) fn execute(&self, arguments: &[&Buffer]) -> Result<Vec<Buffer>, Failure> {
        let (client, table) = (self.client, &self.client.table);
        if !arguments.iter().all(|argument| argument.is_of(client)) {
            return Err("an argument is in the memory of another runtime".into());
        }
        let arguments: Vec<Pointer<abi::Buffer>> = arguments.iter().map(|argument| Some(argument.buffer)).collect();
        let mut outputs: Vec<Pointer<abi::Buffer>> = vec![None; self.n_outputs];
        // A module may ask for its parameters to be overwritten by its results. Values are shared.
        let non_donatable: Vec<i64> = (0..).take(arguments.len()).collect();
        let options = abi::ExecuteOptions {
            non_donatable: start(&non_donatable),
            n_non_donatable: non_donatable.len(),
            ..Default::default()
        };
        let (argument_lists, mut output_lists) = ([start(&arguments)], [start_mut(&mut outputs)]);
        let mut events = [None];
        let mut run = abi::Execute {
            executable: Some(self.executable),
            options: Some(NonNull::from(&options)),
            argument_lists: start(&argument_lists),
            n_devices: 1,
            n_arguments: arguments.len(),
            output_lists: start_mut(&mut output_lists),
            complete_events: start_mut(&mut events),
            ..Default::default()
        };
        // SAFETY: the executable and all arguments are alive, of the same client, and stay so
        // until the run is over, which is waited for below; the plugin compares their number and
        // sizes with the module's. There is room for as many outputs as the executable has, and
        // for the event of the one device. Options and lists are read during the call only.
        unsafe { table.call(table.loaded_executable_execute, &mut run) }?;
        let [event] = events;
        // SAFETY: the event was given to us by the call before.
        let done = unsafe { client.wait(event) };
        // What there is becomes ours before anything can fail, so that it is freed.
        let buffers = outputs.into_iter().map(|output| output.map(|buffer| Buffer { client, buffer }));
        let buffers: Option<Vec<Buffer>> = buffers.collect();
        done?;
        buffers.ok_or_else(|| "the plugin gave too few results".into())
    }
}

/// An array on the device. Nothing writes to it once it is made.
pub(in super::super) struct Buffer {
    client: &'static Client,
    buffer: NonNull<abi::Buffer>,
}

// SAFETY: the API says that a buffer may be used by any threads, also at the same time.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the buffer is alive, and nothing uses it afterwards: runs are waited for, and
        // views hold on to it. Nothing can be done about a failure.
        let _ = unsafe { self.client.table.call(self.client.table.buffer_destroy, &mut self.argument()) };
    }
}

impl Buffer {
    fn argument(&self) -> abi::OfBuffer {
        abi::OfBuffer { buffer: Some(self.buffer), ..Default::default() }
    }

    /// Whether it is in the memory of this client.
    pub(super) fn is_of(&self, client: &Client) -> bool {
        std::ptr::eq(self.client, client)
    }

    /// The element type and the sizes.
    ///
    /// # Errors
    /// The plugin's message; that a tensor cannot have this type or these sizes.
    pub(super) fn shape(&self) -> Result<(DType, Vec<u64>), Failure> {
        let (table, buffer) = (&self.client.table, Some(self.buffer));
        let mut typed = abi::BufferElementType { buffer, ..Default::default() };
        let mut sized = abi::BufferDimensions { buffer, ..Default::default() };
        // SAFETY: the buffer is alive. The sizes live as long as it does, and are copied.
        let dims: Vec<i64> = unsafe {
            table.call(table.buffer_element_type, &mut typed)?;
            table.call(table.buffer_dimensions, &mut sized)?;
            slice(sized.dims, sized.n_dims).to_vec()
        };
        let number = typed.element_type;
        let dtype = abi::ELEMENT_TYPES.iter().find(|(_, known)| *known == number).map(|(dtype, _)| *dtype);
        let dtype = dtype.ok_or_else(|| format!("a result is of PJRT's type {number}, which no tensor has"))?;
        let dims: Result<Vec<u64>, _> = dims.into_iter().map(u64::try_from).collect();
        Ok((dtype, dims.map_err(|_| "a result has a negative size")?))
    }

    /// The first `len` bytes of its memory as they are, if the process can read them, and they are
    /// the elements in row-major order of `rank` dimensions.
    ///
    /// # Errors
    /// The plugin's message; that there are fewer bytes.
    pub(super) fn view(self: &Arc<Self>, rank: usize, len: usize) -> Result<Option<Bytes>, Failure> {
        let (table, buffer) = (&self.client.table, Some(self.buffer));
        let mut placed = abi::BufferIsOnCpu { buffer, ..Default::default() };
        let mut sized = abi::BufferSize { buffer, ..Default::default() };
        // SAFETY: the buffer is alive.
        unsafe {
            table.call(table.buffer_is_on_cpu, &mut placed)?;
            table.call(table.buffer_on_device_size, &mut sized)?;
        }
        if placed.is_on_cpu == 0 || !self.is_row_major(rank)? {
            return Ok(None);
        }
        if sized.len < len {
            return Err(format!("a result has {} bytes instead of {len}", sized.len).into());
        }
        if len == 0 {
            return Ok(Some(Bytes::new()));
        }
        // SAFETY: the buffer is alive; the count is taken back when the view ends.
        unsafe { table.call(table.buffer_increase_external_reference_count, &mut self.argument()) }?;
        let mut view = View { buffer: self.clone(), data: NonNull::dangling(), len: 0 };
        let mut found = abi::BufferMemory { buffer, ..Default::default() };
        // SAFETY: the buffer is alive, and its memory stays where it is while it is counted.
        unsafe { table.call(table.buffer_opaque_device_memory, &mut found) }?;
        view.data = found.data.ok_or("a result has no memory")?;
        view.len = len;
        Ok(Some(Bytes::from_owner(view)))
    }

    /// Whether the elements lie in row-major order, without gaps.
    fn is_row_major(&self, rank: usize) -> Result<bool, Failure> {
        let mut got = abi::BufferGetLayout { buffer: Some(self.buffer), ..Default::default() };
        // SAFETY: the buffer is alive.
        unsafe { self.client.table.call(self.client.table.buffer_get_memory_layout, &mut got) }?;
        let order = &got.layout.order;
        // SAFETY: a layout of this kind has the order, which lives as long as the buffer.
        let order_of_dims = || unsafe { slice(order.minor_to_major, order.len) };
        Ok(got.layout.kind == abi::LAYOUT_ORDER && order.n_tiles == 0 && order_of_dims() == row_major(rank))
    }

    /// Copies the elements, row-major, which are `len` bytes in `rank` dimensions.
    ///
    /// # Errors
    /// The plugin's message.
    pub(super) fn copy(&self, rank: usize, len: usize) -> Result<Bytes, Failure> {
        let order = row_major(rank);
        let order = abi::Order { minor_to_major: start(&order), len: order.len(), ..Default::default() };
        let layout = abi::Layout { order, kind: abi::LAYOUT_ORDER, ..Default::default() };
        let mut bytes = vec![0; len];
        let mut copied = abi::BufferToHost {
            buffer: Some(self.buffer),
            layout: Some(NonNull::from(&layout)),
            destination: start_mut(&mut bytes),
            len,
            ..Default::default()
        };
        // SAFETY: the buffer is alive; there are `len` bytes at the destination, which the plugin
        // compares with what it needs. They are not touched until the copy is over.
        unsafe { self.client.table.call(self.client.table.buffer_to_host_buffer, &mut copied) }?;
        // SAFETY: the event was given to us by the call before.
        unsafe { self.client.wait(copied.event) }?;
        Ok(bytes.into())
    }
}

/// A view of a buffer's memory, by which it is counted.
struct View {
    buffer: Arc<Buffer>,
    data: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory is only read, from whichever thread.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

impl AsRef<[u8]> for View {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the memory is of at least `len` bytes, all written by the run that is over. It
        // stays there while the buffer is alive and counted, and nothing writes to it: no run may
        // take it for its results.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), self.len) }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let table = &self.buffer.client.table;
        // SAFETY: the buffer is alive, and was counted when the view was made.
        let _ = unsafe { table.call(table.buffer_decrease_external_reference_count, &mut self.buffer.argument()) };
    }
}

/// The order of dimensions that is row-major: the last one closest together.
fn row_major(rank: usize) -> Vec<i64> {
    (0..).take(rank).collect::<Vec<i64>>().into_iter().rev().collect()
}

fn open(path: &Path) -> Result<Table, String> {
    // SAFETY: opening a library runs its initialisers. The operator asked for this one.
    let library = unsafe { Library::new(path) }.map_err(|error| format!("cannot be opened: {error}"))?;
    // SAFETY: every plugin exports the function under this name, and it is of this type.
    let get = unsafe { library.get::<abi::GetApi>(b"GetPjrtApi\0") }
        .map_err(|_| "is not a PJRT plugin: it does not export GetPjrtApi")?;
    // SAFETY: it takes nothing, and gives a table that lives as long as the library is open.
    let header = unsafe { get() };
    if header.is_null() || !header.is_aligned() {
        return Err("is not a PJRT plugin: it does not give a table of functions".to_owned());
    }
    // SAFETY: it was just checked, and every table begins with a header.
    let header = unsafe { &*header };
    let version = (header.major, header.minor);
    if header.size < size_of::<abi::Header>() || version.0 != VERSION.0 || version < VERSION {
        let (major, minor) = VERSION;
        return Err(format!(
            "has version {}.{} of PJRT's API: {major}.{minor} or later is needed",
            version.0, version.1
        ));
    }
    // SAFETY: the table is that of a plugin, and as long as it says.
    let table = unsafe { Table::read(header) }?;
    std::mem::forget(library);
    Ok(table)
}

impl Table {
    /// Makes a client with these options, and with those of our own that are not among them.
    fn create(
        &self,
        options: &[(String, OptionValue)],
        own: &[(&str, OptionValue)],
    ) -> Result<Pointer<abi::Client>, Failure> {
        let own = own.iter().filter(|(name, _)| options.iter().all(|(other, _)| other != name));
        let given = options.iter().map(|(name, value)| named_value(name, value));
        let values: Vec<_> = given.chain(own.map(|(name, value)| named_value(name, value))).collect();
        let mut created = abi::ClientCreate { options: start(&values), n_options: values.len(), ..Default::default() };
        // SAFETY: names and values live as long as `options` and `own`, and the plugin reads them during the
        // call only. Callbacks may be left out, as nulls.
        unsafe { self.call(self.client_create, &mut created) }?;
        Ok(created.client)
    }

    /// Calls a function; an error is copied and freed.
    ///
    /// # Safety
    /// The arguments must be what the function takes: objects alive, and pointers valid for as long
    /// and for as many elements as the API says.
    unsafe fn call<A>(&self, function: Function<A>, arguments: &mut A) -> Result<(), Failure> {
        // SAFETY: the caller's.
        let Some(error) = (unsafe { function(arguments) }) else { return Ok(()) };
        let mut message = abi::ErrorMessage { error: Some(error), ..Default::default() };
        let mut got = abi::ErrorCode { error: Some(error), code: status_code::UNKNOWN, ..Default::default() };
        // SAFETY: the error was just given to us; its message lives until it is freed, and is copied.
        unsafe {
            (self.error_message)(&raw mut message);
            // An error of reading the code would say less than the error that is being read.
            let _ = (self.error_get_code)(&raw mut got);
            let text = text(message.message, message.len);
            (self.error_destroy)(&mut abi::OfError { error: Some(error), ..Default::default() });
            Err(Failure { code: got.code, message: format!("{}: {text}", status_code::name(got.code)) })
        }
    }
}

/// An option as the plugin takes it, which points to name and value.
fn named_value(name: &str, value: &OptionValue) -> abi::NamedValue {
    let (kind, value, len) = match value {
        OptionValue::String(text) => (0, abi::NamedContent { text: start(text.as_bytes()) }, text.len()),
        OptionValue::Int64(integer) => (1, abi::NamedContent { integer: *integer }, 1),
        OptionValue::Int64List(integers) => (2, abi::NamedContent { integers: start(integers) }, integers.len()),
        OptionValue::Float(float) => (3, abi::NamedContent { float: *float }, 1),
        OptionValue::Bool(truth) => (4, abi::NamedContent { truth: *truth }, 1),
    };
    abi::NamedValue { name: start(name.as_bytes()), name_len: name.len(), kind, value, len, ..Default::default() }
}

/// Where a slice begins, for a function that only reads it.
fn start<T>(slice: &[T]) -> Pointer<T> {
    Some(NonNull::from(slice).cast())
}

/// Where a slice begins, for a function that writes to it.
fn start_mut<T>(slice: &mut [T]) -> Pointer<T> {
    Some(NonNull::from(slice).cast())
}

/// A list that the plugin owns; empty if there is no list.
///
/// # Safety
/// Where it is not null, there must be `len` elements, which live and stay unchanged as long as
/// the result is used.
unsafe fn slice<'a, T>(start: Pointer<T>, len: usize) -> &'a [T] {
    // SAFETY: the caller's.
    start.map_or(&[], |start| unsafe { std::slice::from_raw_parts(start.as_ptr(), len) })
}

/// A copy of a text of the plugin's.
///
/// # Safety
/// As for [`slice`].
unsafe fn text(start: Pointer<u8>, len: usize) -> String {
    // SAFETY: the caller's.
    String::from_utf8_lossy(unsafe { slice(start, len) }).into_owned()
}

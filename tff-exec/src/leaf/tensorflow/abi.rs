//! TensorFlow's C API: the layout of the structs, and the types of the functions, as far as they are
//! used here.

use std::ffi::{c_char, c_int, c_void};

opaque!(Status, Tensor, Graph, Operation, ImportOptions, SessionOptions, Session);

/// Bytes with their length.
#[repr(C)]
pub(super) struct Buffer {
    pub(super) data: *const c_void,
    pub(super) len: usize,
    /// Frees the bytes together with the buffer; none where they are borrowed.
    pub(super) free: Option<unsafe extern "C" fn(*mut c_void, usize)>,
}

/// An output of an op.
#[repr(C)]
pub(super) struct Output {
    pub(super) op: *mut Operation,
    pub(super) index: c_int,
}

/// A string: zeros until it is initialized.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct TString([u64; 3]);

/// Frees the data of a tensor; gets the data, their length and the argument given with it.
pub(super) type Free = unsafe extern "C" fn(*mut c_void, usize, *mut c_void);

/// Declares the functions that are used, and how to find all of them in a library.
macro_rules! functions {
    ($($name:ident: $symbol:literal ($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of a library.
        pub(super) struct Functions {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        /// Makes [`Functions`] by `$find`, which gives a function of a library by its name.
        macro_rules! find_functions {
            ($find:path, $library:expr) => {
                Functions { $($name: $find($library, $symbol)?,)* }
            };
        }
    };
}

functions! {
    version: "TF_Version" () -> *const c_char;
    new_status: "TF_NewStatus" () -> *mut Status;
    delete_status: "TF_DeleteStatus" (*mut Status);
    get_code: "TF_GetCode" (*const Status) -> c_int;
    message: "TF_Message" (*const Status) -> *const c_char;
    new_buffer: "TF_NewBuffer" () -> *mut Buffer;
    delete_buffer: "TF_DeleteBuffer" (*mut Buffer);
    allocate_tensor: "TF_AllocateTensor" (c_int, *const i64, c_int, usize) -> *mut Tensor;
    new_tensor: "TF_NewTensor" (c_int, *const i64, c_int, *mut c_void, usize, Option<Free>, *mut c_void) -> *mut Tensor;
    delete_tensor: "TF_DeleteTensor" (*mut Tensor);
    tensor_type: "TF_TensorType" (*const Tensor) -> c_int;
    tensor_data: "TF_TensorData" (*const Tensor) -> *mut c_void;
    tensor_byte_size: "TF_TensorByteSize" (*const Tensor) -> usize;
    num_dims: "TF_NumDims" (*const Tensor) -> c_int;
    dim: "TF_Dim" (*const Tensor, c_int) -> i64;
    string_init: "TF_StringInit" (*mut TString);
    string_copy: "TF_StringCopy" (*mut TString, *const c_char, usize);
    string_dealloc: "TF_StringDealloc" (*mut TString);
    string_data: "TF_StringGetDataPointer" (*const TString) -> *const c_char;
    string_size: "TF_StringGetSize" (*const TString) -> usize;
    new_graph: "TF_NewGraph" () -> *mut Graph;
    delete_graph: "TF_DeleteGraph" (*mut Graph);
    new_import_options: "TF_NewImportGraphDefOptions" () -> *mut ImportOptions;
    delete_import_options: "TF_DeleteImportGraphDefOptions" (*mut ImportOptions);
    import_graph_def: "TF_GraphImportGraphDef" (*mut Graph, *const Buffer, *const ImportOptions, *mut Status);
    get_op_def: "TF_GraphGetOpDef" (*mut Graph, *const c_char, *mut Buffer, *mut Status);
    operation_by_name: "TF_GraphOperationByName" (*mut Graph, *const c_char) -> *mut Operation;
    num_outputs: "TF_OperationNumOutputs" (*mut Operation) -> c_int;
    output_type: "TF_OperationOutputType" (Output) -> c_int;
    new_session_options: "TF_NewSessionOptions" () -> *mut SessionOptions;
    delete_session_options: "TF_DeleteSessionOptions" (*mut SessionOptions);
    set_config: "TF_SetConfig" (*mut SessionOptions, *const c_void, usize, *mut Status);
    new_session: "TF_NewSession" (*mut Graph, *const SessionOptions, *mut Status) -> *mut Session;
    close_session: "TF_CloseSession" (*mut Session, *mut Status);
    delete_session: "TF_DeleteSession" (*mut Session, *mut Status);
    session_run: "TF_SessionRun" (
        *mut Session, *const Buffer,
        *const Output, *const *mut Tensor, c_int,
        *const Output, *mut *mut Tensor, c_int,
        *const *const Operation, c_int,
        *mut Buffer, *mut Status
    );
}

pub(super) use find_functions;

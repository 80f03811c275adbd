//! The unsafe corner: libtensorflow's functions behind safe ones. Every other file of the leaf is
//! safe code over these.
//!
//! The safety arguments rest on two facts. First, the library does what TensorFlow's C API says; the
//! operator chooses it. Second, a library is never closed, so its functions stay where they are. An
//! object of the library is made through an [`Api`], and refers to it from then on.
#![expect(unsafe_code, reason = "calls into libtensorflow, and views of memory that it owns")]

use super::abi::{self, Functions, find_functions};
use crate::values::nodes::check_dims;
use crate::values::status_code;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tff_ir::{Array, ArrayError};
use tff_types::DType;

// Arrays are little-endian, TensorFlow's tensors are native: views of one another need both equal.
const _: () = assert!(cfg!(target_endian = "little"));

/// A libtensorflow that is open, for the rest of the process.
pub(super) struct Api(Functions);

impl Api {
    /// Opens a library, by its file or by a name that the system's loader knows.
    ///
    /// # Errors
    /// What is wrong with it, as what follows its name.
    pub(super) fn open(name: &OsStr) -> Result<&'static Self, String> {
        // SAFETY: opening a library runs its initialisers. The operator asked for this one.
        let library = unsafe { libloading::Library::new(name) };
        Self::of(library.map_err(|error| format!("cannot be opened: {error}"))?)
    }

    /// The library of this name, if the process has it open already, whoever opened it.
    pub(super) fn already_open(name: &OsStr) -> Option<Result<&'static Self, String>> {
        #[cfg(unix)]
        let library = {
            /// Opens nothing; gives what is open. The constant is not in `libloading`.
            const RTLD_NOLOAD: c_int = if cfg!(target_vendor = "apple") { 0x10 } else { 0x4 };
            let flags = RTLD_NOLOAD | libloading::os::unix::RTLD_LAZY;
            // SAFETY: its initialisers have run, or run in another thread that is waited for.
            unsafe { libloading::os::unix::Library::open(Some(name), flags) }.ok()?.into()
        };
        #[cfg(windows)]
        let library = libloading::os::windows::Library::open_already_loaded(name).ok()?.into();
        Some(Self::of(library))
    }

    fn of(library: libloading::Library) -> Result<&'static Self, String> {
        // SAFETY: every libtensorflow exports the functions of the C API under these names, and they
        // are of the types that `abi` declares.
        let functions = unsafe { find_functions!(find, &library) };
        std::mem::forget(library);
        Ok(Box::leak(Box::new(Self(functions))))
    }

    /// The version: `2.14.1`.
    pub(super) fn version(&self) -> String {
        // SAFETY: it takes nothing and gives a text that lives as long as the library.
        unsafe { text((self.0.version)()) }
    }

    /// Whether both are the same copy in the memory of the process.
    pub(super) fn is(&self, other: &Self) -> bool {
        ptr::fn_addr_eq(self.0.version, other.0.version)
    }

    /// Calls what reports to a status.
    fn call<T>(&self, call: impl FnOnce(&Functions, *mut abi::Status) -> T) -> Result<T, Failure> {
        let functions = &self.0;
        // SAFETY: the status is used by this call only, and its message is copied before it is freed.
        unsafe {
            let status = (functions.new_status)();
            let result = call(functions, status);
            let code = (functions.get_code)(status);
            let failure = (code != 0).then(|| Failure { code, message: text((functions.message)(status)) });
            (functions.delete_status)(status);
            failure.map_or(Ok(result), Err)
        }
    }
}

/// A function of a library.
///
/// # Safety
/// `F` must be the type of the function of this name.
unsafe fn find<F: Copy>(library: &libloading::Library, name: &str) -> Result<F, String> {
    // SAFETY: the caller's.
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    found.map(|function| *function).map_err(|_| format!("is not a libtensorflow 2.x: it does not export {name}"))
}

/// A copy of a text of the library's.
///
/// # Safety
/// It must be null or end with a zero byte.
unsafe fn text(start: *const c_char) -> String {
    // SAFETY: the caller's.
    if start.is_null() { String::new() } else { unsafe { CStr::from_ptr(start) }.to_string_lossy().into_owned() }
}

fn borrowed(bytes: &[u8]) -> abi::Buffer {
    abi::Buffer { data: bytes.as_ptr().cast(), len: bytes.len(), free: None }
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Api").field(&self.version()).finish()
    }
}

/// Why TensorFlow did not do what it was asked for.
#[derive(Debug)]
pub(super) struct Failure {
    code: c_int,
    message: String,
}

impl Failure {
    /// The code's name, as `INVALID_ARGUMENT`.
    pub(super) const fn code(&self) -> &'static str {
        status_code::name(self.code)
    }

    /// A result that is not what it has to be.
    pub(super) fn internal(message: &str) -> Self {
        Self { code: status_code::INTERNAL, message: message.to_owned() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As in `InvalidArgument`.
        for word in self.code().split('_') {
            let (first, rest) = word.split_at(1);
            write!(f, "{first}{}", rest.to_ascii_lowercase())?;
        }
        write!(f, ": {}", self.message)
    }
}

/// A tensor in TensorFlow's memory; nothing writes to it once it is made.
pub(super) struct Native {
    library: &'static Api,
    tensor: NonNull<abi::Tensor>,
    dtype: DType,
    dims: Box<[u64]>,
}

// SAFETY: a tensor is a counted reference to a buffer, and may be used and freed by any thread.
unsafe impl Send for Native {}
// SAFETY: the buffer is only read.
unsafe impl Sync for Native {}

impl Drop for Native {
    fn drop(&mut self) {
        // SAFETY: the tensor is owned, and nothing uses it afterwards.
        unsafe { (self.library.0.delete_tensor)(self.tensor.as_ptr()) };
    }
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Native").field("dtype", &self.dtype).field("dims", &self.dims).finish_non_exhaustive()
    }
}

impl Native {
    /// Copies an array into TensorFlow's memory.
    ///
    /// # Errors
    /// [`ArrayError::TooLarge`] for dimensions that TensorFlow cannot represent.
    pub(super) fn from_array(library: &'static Api, array: &Array) -> Result<Self, ArrayError> {
        let (dtype, dims) = (array.dtype(), array.dims());
        check_dims(dims)?;
        let too_large = || ArrayError::TooLarge(dims.to_vec());
        let (shape, rank) = (dims.as_ptr().cast::<i64>(), c_int::try_from(dims.len()).map_err(|_| too_large())?);
        let n_elements = dims.iter().try_fold(1usize, |product, &dim| product.checked_mul(usize::try_from(dim).ok()?));
        let n_elements = n_elements.ok_or_else(too_large)?;
        let tensor = if let Some(strings) = array.as_strings().filter(|it| it.len() == n_elements) {
            let mut data = vec![abi::TString::default(); n_elements].into_boxed_slice();
            for (target, source) in data.iter_mut().zip(strings) {
                // SAFETY: zeros become the empty string, to which these bytes are copied.
                unsafe {
                    (library.0.string_init)(target);
                    (library.0.string_copy)(target, source.as_ptr().cast(), source.len());
                }
            }
            let (size, data) = (size_of_val(&*data), Box::into_raw(data).cast::<c_void>());
            let argument = ptr::from_ref(library).cast_mut().cast();
            // SAFETY: there are as many sizes as the rank says, each below that of an `i64`. The data are
            // as many strings as they multiply to; `free_strings` takes them back, with the library.
            unsafe { (library.0.new_tensor)(dtype.number(), shape, rank, data, size, Some(free_strings), argument) }
        } else if let (Some(bytes), Some(size)) = (array.as_dense(), dtype.size())
            && n_elements.checked_mul(size) == Some(bytes.len())
        {
            // SAFETY: as above; the bytes are as many as the elements take, which was just checked.
            // The new tensor has room for them, overlaps nothing, and is not shared yet. An array
            // holds valid elements of its type only, also where not every byte is one (booleans).
            unsafe {
                let tensor = (library.0.allocate_tensor)(dtype.number(), shape, rank, bytes.len());
                let target = if tensor.is_null() { ptr::null_mut() } else { (library.0.tensor_data)(tensor) };
                if !target.is_null() {
                    ptr::copy_nonoverlapping(bytes.as_ptr(), target.cast(), bytes.len());
                }
                tensor
            }
        } else {
            ptr::null_mut()
        };
        Ok(Self { library, tensor: NonNull::new(tensor).ok_or_else(too_large)?, dtype, dims: dims.into() })
    }

    /// Takes over a tensor that TensorFlow made; `None` where there is none, or of a type that no
    /// value has.
    ///
    /// # Safety
    /// It must be null, or a tensor of the library that nothing else frees.
    unsafe fn adopt(library: &'static Api, tensor: *mut abi::Tensor) -> Option<Self> {
        let functions = &library.0;
        let tensor = NonNull::new(tensor)?;
        // From here on it is freed, whatever its type.
        let mut native = Self { library, tensor, dtype: DType::Bool, dims: Box::default() };
        // SAFETY: the tensor is alive, and each index is below its number of dimensions.
        let number = unsafe {
            let dims = 0..(functions.num_dims)(tensor.as_ptr());
            native.dims = dims.map(|axis| (functions.dim)(tensor.as_ptr(), axis).unsigned_abs()).collect();
            (functions.tensor_type)(tensor.as_ptr())
        };
        native.dtype = DType::from_number(number)?;
        Some(native)
    }

    pub(super) const fn dtype(&self) -> DType {
        self.dtype
    }

    pub(super) const fn dims(&self) -> &[u64] {
        &self.dims
    }

    /// The memory of the elements; its beginning is null or dangling where it is empty.
    fn data(&self) -> (*const c_void, usize) {
        // SAFETY: the tensor is alive.
        unsafe {
            (
                (self.library.0.tensor_data)(self.tensor.as_ptr()),
                (self.library.0.tensor_byte_size)(self.tensor.as_ptr()),
            )
        }
    }

    /// How many strings there are; none of another element type.
    pub(super) fn n_strings(&self) -> usize {
        if self.dtype == DType::String { self.data().1 / size_of::<abi::TString>() } else { 0 }
    }

    /// The string at a row-major position; `None` beyond the end and for other element types.
    pub(super) fn string(&self, index: usize) -> Option<&[u8]> {
        if index >= self.n_strings() {
            return None;
        }
        // SAFETY: the data are initialised strings, more than `index`. The pointer is that of as many
        // bytes as the string's size, which live and stay unchanged as long as the tensor does.
        unsafe {
            let string = self.data().0.cast::<abi::TString>().add(index);
            let start = (self.library.0.string_data)(string).cast::<u8>();
            let size = (self.library.0.string_size)(string);
            Some(if start.is_null() { &[] } else { std::slice::from_raw_parts(start, size) })
        }
    }
}

impl AsRef<[u8]> for Native {
    /// The bytes of the elements; nothing for strings.
    fn as_ref(&self) -> &[u8] {
        match self.data() {
            (start, size @ 1..) if !start.is_null() && self.dtype != DType::String => {
                // SAFETY: the data are as many initialised bytes, without padding, which live and stay
                // unchanged as long as the tensor does.
                unsafe { std::slice::from_raw_parts(start.cast(), size) }
            }
            _ => &[],
        }
    }
}

/// Frees the strings of a tensor that [`Native::from_array`] made.
unsafe extern "C" fn free_strings(data: *mut c_void, size: usize, library: *mut c_void) {
    let strings = ptr::slice_from_raw_parts_mut(data.cast::<abi::TString>(), size / size_of::<abi::TString>());
    // SAFETY: these are the boxed slice and the library that `from_array` gave away; TensorFlow calls
    // this once. The strings were initialised, and nothing uses them afterwards.
    unsafe {
        let library = &*library.cast::<Api>().cast_const();
        Box::from_raw(strings).iter_mut().for_each(|string| (library.0.string_dealloc)(string));
    }
}

/// A graph that was imported, and does not change any more. Cheap to clone.
#[derive(Clone)]
pub(super) struct Graph(Arc<Imported>);

struct Imported {
    library: &'static Api,
    graph: NonNull<abi::Graph>,
}

// SAFETY: a graph has a lock of its own, and nothing is added to it after it is made.
unsafe impl Send for Imported {}
// SAFETY: as above.
unsafe impl Sync for Imported {}

impl Drop for Imported {
    fn drop(&mut self) {
        // SAFETY: the graph is owned, and nothing uses it afterwards: sessions keep it for themselves.
        unsafe { (self.library.0.delete_graph)(self.graph.as_ptr()) };
    }
}

impl Graph {
    /// Imports a serialized `GraphDef`.
    ///
    /// # Errors
    /// TensorFlow's.
    pub(super) fn import(library: &'static Api, def: &[u8]) -> Result<Self, Failure> {
        // SAFETY: it takes nothing.
        let graph = NonNull::new(unsafe { (library.0.new_graph)() }).ok_or_else(|| Failure::internal("no graph"))?;
        let graph = Imported { library, graph };
        // SAFETY: the graph is alive; the options are freed after the call, during which alone the
        // buffer is read.
        library.call(|functions, status| unsafe {
            let options = (functions.new_import_options)();
            (functions.import_graph_def)(graph.graph.as_ptr(), &borrowed(def), options, status);
            (functions.delete_import_options)(options);
        })?;
        Ok(Self(Arc::new(graph)))
    }

    /// The serialized `OpDef` of an op that is registered.
    pub(super) fn op_def(&self, op: &str) -> Option<Vec<u8>> {
        let (name, library) = (CString::new(op).ok()?, self.0.library);
        // SAFETY: the graph is alive, the name ends with a zero byte, and the buffer is freed after its
        // bytes are copied.
        unsafe {
            let buffer = (library.0.new_buffer)();
            let found = library.call(|functions, status| {
                (functions.get_op_def)(self.0.graph.as_ptr(), name.as_ptr(), buffer, status);
            });
            let bytes = found.ok().filter(|()| !(*buffer).data.is_null());
            let bytes = bytes.map(|()| std::slice::from_raw_parts((*buffer).data.cast(), (*buffer).len).to_vec());
            (library.0.delete_buffer)(buffer);
            bytes
        }
    }

    /// The op of this name.
    pub(super) fn operation(&self, name: &str) -> Option<Operation> {
        let name = CString::new(name).ok()?;
        // SAFETY: the graph is alive, and the name ends with a zero byte.
        let op = unsafe { (self.0.library.0.operation_by_name)(self.0.graph.as_ptr(), name.as_ptr()) };
        Some(Operation { graph: self.clone(), op: NonNull::new(op)? })
    }
}

/// An op of a graph.
pub(super) struct Operation {
    /// Keeps the op alive.
    graph: Graph,
    op: NonNull<abi::Operation>,
}

// SAFETY: an op is part of a graph that does not change any more.
unsafe impl Send for Operation {}
// SAFETY: as above.
unsafe impl Sync for Operation {}

impl Operation {
    /// An output of the op, with the number of its element type; `None` where it has no such output.
    pub(super) fn output(self, index: i32) -> Option<(Port, i32)> {
        let functions = &self.graph.0.library.0;
        let op = self.op.as_ptr();
        // SAFETY: the op is alive, and the index is checked to be that of an output.
        unsafe {
            let is_there = (0..(functions.num_outputs)(op)).contains(&index);
            let number = is_there.then(|| (functions.output_type)(abi::Output { op, index }))?;
            Some((Port { op: self, index }, number))
        }
    }
}

/// One tensor of a graph: an output of an op.
pub(super) struct Port {
    op: Operation,
    index: c_int,
}

impl Port {
    const fn output(&self) -> abi::Output {
        abi::Output { op: self.op.op.as_ptr(), index: self.index }
    }
}

/// A session on a graph, with state of its own.
pub(super) struct NativeSession {
    library: &'static Api,
    session: NonNull<abi::Session>,
    is_closed: AtomicBool,
}

// SAFETY: the API says that a session may be used by any threads, also at the same time.
unsafe impl Send for NativeSession {}
// SAFETY: as above.
unsafe impl Sync for NativeSession {}

impl Drop for NativeSession {
    fn drop(&mut self) {
        // SAFETY: the session is owned, and nothing uses it afterwards. Nothing can be done about a
        // failure.
        let _ = self.library.call(|functions, status| unsafe {
            (functions.delete_session)(self.session.as_ptr(), status);
        });
    }
}

impl NativeSession {
    /// Opens a session with these options, a serialized `ConfigProto`.
    ///
    /// # Errors
    /// TensorFlow's.
    pub(super) fn new(graph: &Graph, config: &[u8]) -> Result<Self, Failure> {
        let library = graph.0.library;
        // SAFETY: it takes nothing.
        let options = unsafe { (library.0.new_session_options)() };
        // SAFETY: the options are alive, and the bytes are copied.
        let set = library.call(|functions, status| unsafe {
            (functions.set_config)(options, config.as_ptr().cast(), config.len(), status);
        });
        // SAFETY: graph and options are alive; the session keeps the graph for itself.
        let session = set.and_then(|()| {
            library
                .call(|functions, status| unsafe { (functions.new_session)(graph.0.graph.as_ptr(), options, status) })
        });
        // SAFETY: nothing uses the options afterwards.
        unsafe { (library.0.delete_session_options)(options) };
        let session = NonNull::new(session?).ok_or_else(|| Failure::internal("no session"))?;
        Ok(Self { library, session, is_closed: AtomicBool::new(false) })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Ends the runs that are under way, which then fail, and refuses later ones.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        // SAFETY: the session is alive. Nothing can be done about a failure.
        let _ = self.library.call(|functions, status| unsafe {
            (functions.close_session)(self.session.as_ptr(), status);
        });
    }

    /// Runs the graph once, with these options, a serialized `RunOptions`. Gives a tensor for each
    /// of `fetches`.
    ///
    /// # Errors
    /// TensorFlow's.
    pub(super) fn run<'a>(
        &self,
        options: &[u8],
        feeds: impl IntoIterator<Item = (&'a Port, &'a Native)>,
        targets: &[&Operation],
        fetches: &[Port],
    ) -> Result<Vec<Native>, Failure> {
        let (inputs, tensors): (Vec<_>, Vec<_>) =
            feeds.into_iter().map(|(port, native)| (port.output(), native.tensor.as_ptr())).unzip();
        let outputs: Vec<_> = fetches.iter().map(Port::output).collect();
        let targets: Vec<*const abi::Operation> = targets.iter().map(|it| it.op.as_ptr().cast_const()).collect();
        let mut fetched = vec![ptr::null_mut(); outputs.len()];
        let count = |len: usize| c_int::try_from(len).map_err(|_| Failure::internal("too many tensors"));
        let (n_inputs, n_outputs, n_targets) = (count(inputs.len())?, count(outputs.len())?, count(targets.len())?);
        // SAFETY: session, ops and tensors are alive, and each list is as long as the number beside
        // it says. TensorFlow finds the ops in the session's graph by their names. It reads what it
        // is fed and does not write to it.
        let run = self.library.call(|functions, status| unsafe {
            (functions.session_run)(
                self.session.as_ptr(),
                &borrowed(options),
                inputs.as_ptr(),
                tensors.as_ptr(),
                n_inputs,
                outputs.as_ptr(),
                fetched.as_mut_ptr(),
                n_outputs,
                targets.as_ptr(),
                n_targets,
                ptr::null_mut(),
                status,
            );
        });
        // What there is becomes ours before anything can fail, so that it is freed.
        // SAFETY: what was written there is a tensor of ours; the other entries are null.
        let natives = fetched.into_iter().map(|tensor| unsafe { Native::adopt(self.library, tensor) });
        let natives: Vec<Option<Native>> = natives.collect();
        run?;
        let natives: Option<Vec<Native>> = natives.into_iter().collect();
        natives.ok_or_else(|| Failure::internal("a result of no known element type"))
    }
}

//! Finding and mapping the shared page.

use crate::client;
use crate::client_conditions;
use crate::layout::{self, Page};
use crate::system;
use std::ffi::CStr;
use std::mem::size_of;
use std::sync::atomic::{AtomicPtr, Ordering};

static MAPPED: AtomicPtr<Page> = AtomicPtr::new(std::ptr::null_mut());

/// Maps the page before `main`, also when nobody asks for the time: a process without a page must not run.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

extern "C" fn at_load() {
    page();
    if client::part().is_some() {
        client::forget_environment();
        client_conditions::check();
    }
}

/// The shared page. Mapped by whoever needs it first, which may be a constructor of another library, long before [`AT_LOAD`].
#[inline]
pub(crate) fn page() -> &'static Page {
    let mapped = MAPPED.load(Ordering::Acquire);
    if mapped.is_null() {
        return map();
    }
    // SAFETY: a pointer in `MAPPED` is a checked mapping that is never removed.
    unsafe { &*mapped }
}

#[cold]
fn map() -> &'static Page {
    let mapped = open_and_map();
    // SAFETY: `open_and_map` returns a mapping of at least the size of a `Page`, page-aligned, of which every bit pattern is a
    // valid value, since it holds atomics of integers only. It is never removed.
    let page = unsafe { &*mapped };
    if page.magic.load(Ordering::Relaxed) != layout::MAGIC {
        system::refuse("the file to map is not a clock page");
    }
    if page.version.load(Ordering::Relaxed) != layout::VERSION
        || page.size_bytes.load(Ordering::Relaxed) as usize != size_of::<Page>()
    {
        system::refuse(
            "the clock page has another version; build the library and its controller from the same sources",
        );
    }
    let pid = system::process_id();
    let attached = page
        .attached_pid
        .compare_exchange(0, pid, Ordering::AcqRel, Ordering::Acquire);
    if attached.is_err_and(|other| other != pid) {
        system::refuse("the clock page already belongs to another process");
    }
    // Two threads may both get here. Both mappings show the same memory, so either pointer will do and the other one stays.
    MAPPED.store(mapped, Ordering::Release);
    page
}

fn open_and_map() -> *mut Page {
    let name = c"MOONQUAKE_CLOCKPAGE_FILE";
    debug_assert_eq!(name.to_str(), Ok(layout::PAGE_VARIABLE));
    // SAFETY: a valid C string; libc's environment is set up before any library's constructor runs.
    let path = unsafe { libc::getenv(name.as_ptr()) };
    if path.is_null() {
        system::refuse(
            "the variable MOONQUAKE_CLOCKPAGE_FILE is not set; this library is for processes that Moonquake starts",
        );
    }
    // SAFETY: `getenv` returned a C string that nobody changes this early.
    let path = unsafe { CStr::from_ptr(path) };
    let flags = libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: a valid C string and flags.
    let file = unsafe {
        system::raw(
            libc::SYS_open,
            [path.as_ptr() as usize, flags as usize, 0, 0, 0, 0],
        )
    };
    if file < 0 {
        system::refuse("cannot open the file named by MOONQUAKE_CLOCKPAGE_FILE");
    }
    // SAFETY: seeking does not touch memory. Beyond its end a mapping would raise SIGBUS, hence the check.
    let end = unsafe {
        system::raw(
            libc::SYS_lseek,
            [file as usize, 0, libc::SEEK_END as usize, 0, 0, 0],
        )
    };
    if end < size_of::<Page>() as isize {
        system::refuse("the clock page is too short");
    }
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let args = [
        0,
        size_of::<Page>(),
        protection,
        libc::MAP_SHARED as usize,
        file as usize,
        0,
    ];
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let mapped = unsafe { system::raw(libc::SYS_mmap, args) };
    if (-4095..0).contains(&mapped) {
        system::refuse("cannot map the clock page");
    }
    // SAFETY: our own descriptor; the mapping keeps the file alive.
    unsafe { system::raw(libc::SYS_close, [file as usize, 0, 0, 0, 0, 0]) };
    mapped as *mut Page
}

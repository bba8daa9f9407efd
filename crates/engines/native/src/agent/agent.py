"""The client of the release, obeying line by line. The program that starts it embeds this file and speaks the other end.

One JSON object a line: hello goes out first, commands come in, results go out in any order. Every command has a thread of its
own. Buffers are places in one shared file that is mapped here; results that the client returns as bytes are copied there.
"""

import _thread
import ctypes
import json
import mmap
import os
import platform
import sys
import time

PROTOCOL = 2
MAP_NORESERVE = 0x4000
MAP_FIXED = 0x10
MADV_POPULATE_WRITE = 23
USERFAULTFD = 323


class Arena:
    """The shared memory, and the addresses of ranges in it."""

    def __init__(self, descriptor, size):
        self.mapping = mmap.mmap(descriptor, size, flags=mmap.MAP_SHARED | MAP_NORESERVE)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.mapping))
        self.size = size

    def check(self, part):
        offset, size = part["offset"], part["size"]
        if offset < 0 or size < 0 or offset + size > self.size:
            raise ValueError("{} bytes at {} do not lie in an arena of {}".format(size, offset, self.size))
        return offset, size

    def view(self, part):
        offset, size = self.check(part)
        return memoryview(self.mapping)[offset:offset + size]

    def address(self, part):
        return self.base + self.check(part)[0]

    def addresses(self, parts):
        return [self.address(part) for part in parts]

    def keep(self, part, value):
        """Copies what came, as far as it fits, and tells how long it is."""
        offset, size = self.check(part)
        kept = min(len(value), size)
        self.mapping[offset:offset + kept] = value[:kept]
        return len(value)


class Agent:
    """Methods with a command's name carry it out; what they return is the result."""

    def __init__(self, module, arena):
        self.module = module
        self.arena = arena
        self.store = module.MooncakeDistributedStore()

    # The life of the client.

    def setup(self, c):
        # A client that was closed cannot be set up again; a new one can.
        self.store = self.module.MooncakeDistributedStore()
        optional = {"tenant_id": c["tenant_id"]} if "tenant_id" in c else {}
        return number(self.store.setup(
            c["local_hostname"], c["metadata_server"], c["global_segment_size"], c["local_buffer_size"], c["protocol"],
            c["rdma_devices"], c["master_server_addr"], **optional))

    def get_hostname(self, c):
        return {"text": self.store.get_hostname()}

    def health_check(self, c):
        return number(self.store.health_check())

    def clocks(self, c):
        return numbers([time.clock_gettime_ns(time.CLOCK_REALTIME), time.clock_gettime_ns(time.CLOCK_MONOTONIC)])

    def close(self, c):
        return number(self.store.close())

    # Writes.

    def put(self, c):
        return number(self.store.put(c["key"], self.arena.view(c["value"]), self.config(c)))

    def put_parts(self, c):
        parts = [self.arena.view(part) for part in c["parts"]]
        return number(self.store.put_parts(c["key"], *parts, config=self.config(c)))

    def put_from(self, c):
        return number(self.store.put_from(*self.one_buffer(c), self.config(c)))

    def put_batch(self, c):
        values = [self.arena.view(part) for part in c["values"]]
        return number(self.store.put_batch(c["keys"], values, self.config(c)))

    def batch_put_from(self, c):
        return numbers(self.store.batch_put_from(*self.buffers(c), self.config(c)))

    def batch_put_from_multi_buffers(self, c):
        return numbers(self.store.batch_put_from_multi_buffers(*self.many_buffers(c), self.config(c)))

    def upsert(self, c):
        return number(self.store.upsert(c["key"], self.arena.view(c["value"]), self.config(c)))

    def upsert_parts(self, c):
        parts = [self.arena.view(part) for part in c["parts"]]
        return number(self.store.upsert_parts(c["key"], *parts, config=self.config(c)))

    def upsert_from(self, c):
        return number(self.store.upsert_from(*self.one_buffer(c), self.config(c)))

    def upsert_batch(self, c):
        values = [self.arena.view(part) for part in c["values"]]
        return number(self.store.upsert_batch(c["keys"], values, self.config(c)))

    def batch_upsert_from(self, c):
        return numbers(self.store.batch_upsert_from(*self.buffers(c), self.config(c)))

    def batch_put_session_start(self, c):
        return numbers(self.store.batch_put_session_start(c["keys"], c["sizes"], self.config(c)))

    def batch_put_from_multi_buffer_ranges(self, c):
        return numbers(self.store.batch_put_from_multi_buffer_ranges(*self.many_buffers(c), c["dst_offsets"]))

    def batch_put_session_end(self, c):
        return numbers(self.store.batch_put_session_end(c["keys"]))

    def batch_put_session_revoke(self, c):
        return numbers(self.store.batch_put_session_revoke(c["keys"]))

    # Reads.

    def get(self, c):
        return {"length": self.arena.keep(c["into"], self.store.get(c["key"]))}

    def get_batch(self, c):
        offset, size = self.arena.check(c["into"])
        lengths = []
        for value in self.store.get_batch(c["keys"]):
            lengths.append(self.arena.keep({"offset": offset, "size": size}, value))
            kept = min(len(value), size)
            offset, size = offset + kept, size - kept
        return {"lengths": lengths}

    def get_into(self, c):
        return number(self.store.get_into(*self.one_buffer(c)))

    def batch_get_into(self, c):
        return numbers(self.store.batch_get_into(*self.buffers(c)))

    def batch_get_into_multi_buffers(self, c):
        return numbers(self.store.batch_get_into_multi_buffers(*self.many_buffers(c), c["prefer_alloc_in_same_node"]))

    def get_into_ranges(self, c):
        pick = lambda name: [[read[name] for read in reads] for reads in c["reads"]]
        return {"nested": self.store.get_into_ranges(
            self.arena.addresses(c["buffers"]), pick("key"), pick("dst_offsets"), pick("src_offsets"), pick("sizes"))}

    def batch_get_session_start(self, c):
        return numbers(self.store.batch_get_session_start(c["keys"]))

    def batch_get_into_multi_buffer_ranges(self, c):
        return numbers(self.store.batch_get_into_multi_buffer_ranges(*self.many_buffers(c), c["src_offsets"]))

    def batch_get_session_end(self, c):
        return number(self.store.batch_get_session_end(c["keys"]))

    # Probes and removals.

    def is_exist(self, c):
        return number(self.store.is_exist(c["key"]))

    def batch_is_exist(self, c):
        return numbers(self.store.batch_is_exist(c["keys"]))

    def get_size(self, c):
        return number(self.store.get_size(c["key"]))

    def remove(self, c):
        return number(self.store.remove(c["key"], c["force"]))

    def batch_remove(self, c):
        return numbers(self.store.batch_remove(c["keys"], c["force"]))

    def remove_by_regex(self, c):
        return number(self.store.remove_by_regex(c["pattern"], c["force"]))

    def remove_all(self, c):
        return number(self.store.remove_all(c["force"]))

    # Memory.

    def register_buffer(self, c):
        return number(self.store.register_buffer(self.arena.address(c["buffer"]), c["buffer"]["size"]))

    def unregister_buffer(self, c):
        return number(self.store.unregister_buffer(self.arena.address({"offset": c["offset"], "size": 0})))

    def allocate_and_mount_segment(self, c):
        told = self.store.allocate_and_mount_segment(c["size"], c["protocol"])
        return {"mount": {"code": told["ret"], "segment_ids": told["segment_ids"], "allocated_size": told["allocated_size"]}}

    def unmount_and_free_segment(self, c):
        return number(self.store.unmount_and_free_segment(c["segment_ids"], c["grace_period_seconds"]))

    # Page faults, and accesses made on purpose: none of them is a call of the client.

    def open_faults(self, c):
        libc = ctypes.CDLL(None, use_errno=True)
        descriptor = libc.syscall(USERFAULTFD, os.O_CLOEXEC | os.O_NONBLOCK)
        return number(descriptor if descriptor >= 0 else -ctypes.get_errno())

    def close_descriptor(self, c):
        os.close(c["descriptor"])
        return number(0)

    def forget_pages(self, c):
        return number(advise(c["address"], c["size"], mmap.MADV_DONTNEED))

    def share_pages(self, c):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
        mapped = libc.mmap(c["address"], c["size"], mmap.PROT_READ | mmap.PROT_WRITE,
                           mmap.MAP_SHARED | MAP_FIXED, c["descriptor"], 0)
        if mapped != c["address"]:
            return number(-ctypes.get_errno())
        return number(advise(c["address"], c["size"], MADV_POPULATE_WRITE))

    def touch(self, c):
        bytes_of = ctypes.c_char * c["size"]
        view, write = memoryview(bytes_of.from_address(c["address"])).cast("B"), c["write"]
        if c["way"] == "cpu":
            if write:
                view[:] = b"\x07" * len(view)
                return number(len(view))
            return number(len(bytes(view)))
        if c["way"] == "file":
            out, into = os.pipe()
            try:
                if write:
                    os.write(into, b"\x07" * len(view))
                    return number(os.readv(out, [view]))
                return number(os.writev(into, [view]))
            finally:
                os.close(out)
                os.close(into)
        # Which of its two ends the bytes reach is the business of the kernel alone.
        import socket
        with socket.create_server(("127.0.0.1", 0)) as server, \
                socket.create_connection(server.getsockname()) as far, server.accept()[0] as near:
            if write:
                far.sendall(b"\x07" * len(view))
                return number(near.recv_into(view, len(view), socket.MSG_WAITALL))
            return number(near.send(view))

    # Replicas and tasks.

    def get_replica_desc(self, c):
        return {"replicas": [replica(one) for one in self.store.get_replica_desc(c["key"])]}

    def batch_get_replica_desc(self, c):
        told = self.store.batch_get_replica_desc(c["keys"])
        return {"replicas_of": [[replica(one) for one in told[key]] if key in told else None for key in c["keys"]]}

    def batch_replica_clear(self, c):
        return {"texts": self.store.batch_replica_clear(c["keys"], c["segment_name"])}

    def create_copy_task(self, c):
        return task(self.store.create_copy_task(c["key"], c["targets"]))

    def create_move_task(self, c):
        return task(self.store.create_move_task(c["key"], c["source"], c["target"]))

    def query_task(self, c):
        state, code = self.store.query_task(tuple(c["task_id"]))
        told = {"code": code, "status": "", "kind": "", "message": ""}
        if state is not None:
            told.update(status=state.status.name, kind=state.type.name, message=state.message)
        return {"task_state": told}

    # What the commands have in common.

    def one_buffer(self, c):
        return c["key"], self.arena.address(c["buffer"]), c["buffer"]["size"]

    def buffers(self, c):
        return c["keys"], self.arena.addresses(c["buffers"]), [part["size"] for part in c["buffers"]]

    def many_buffers(self, c):
        addresses = [self.arena.addresses(parts) for parts in c["buffers"]]
        return c["keys"], addresses, [[part["size"] for part in parts] for parts in c["buffers"]]

    def config(self, c):
        made = self.module.ReplicateConfig()
        for name, value in c["config"].items():
            if name == "soft_pin_action":
                value = getattr(self.module.SoftPinAction, value)
            elif name == "data_type":
                value = getattr(self.module.ObjectDataType, value)
            setattr(made, name, value)
        return made


def advise(address, size, advice):
    """0, or minus the number of an error."""
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), advice)
    return 0 if done == 0 else -ctypes.get_errno()


def number(value):
    return {"number": int(value)}


def numbers(values):
    return {"numbers": [int(value) for value in values]}


def task(told):
    return {"task": {"code": told[1], "id": list(told[0])}}


def replica(one):
    told = {"status": one.status.name, "kind": "local_disk", "size": 0, "address": None, "place": ""}
    if one.is_memory_replica():
        buffer = one.get_memory_descriptor().buffer_descriptor
        told.update(kind="memory", size=buffer.size, address=buffer.buffer_address, place=buffer.transport_endpoint)
    elif one.is_disk_replica():
        disk = one.get_disk_descriptor()
        told.update(kind="disk", size=disk.object_size, place=disk.file_path)
    return told


class Mouth:
    """The way out. A line is written whole, whoever writes at the same time."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.lock = _thread.allocate_lock()

    def say(self, message):
        line = json.dumps(message).encode("ascii") + b"\n"
        with self.lock:
            while line:
                line = line[os.write(self.descriptor, line):]


def obey(agent, mouth, command):
    try:
        operation = getattr(agent, command["op"])
        result = operation(command)
    except Exception as error:  # Whatever the client's own layer refuses is an answer, too.
        result = {"raised": {"kind": type(error).__name__, "message": str(error)}}
    mouth.say({"id": command["id"], "result": result})


def main():
    options = json.loads(sys.argv[1])
    # What else is printed in this process must not come between the lines.
    mouth = Mouth(os.dup(1))
    os.dup2(2, 1)
    sys.path.insert(0, options["packages"])
    from mooncake import store

    arena = Arena(options["arena"], options["arena_size"])
    agent = Agent(store, arena)
    mouth.say({"hello": {"protocol": PROTOCOL, "python": platform.python_version(), "store": store.__file__,
                         "arena_base": arena.base, "arena_size": arena.size}})
    for line in iter(sys.stdin.buffer.readline, b""):
        command = json.loads(line)
        if command["op"] == "exit":
            break
        _thread.start_new_thread(obey, (agent, mouth, command))
    # Nothing is closed: whoever wants the client closed says so. Threads that are still in a call would block an ordinary end.
    os._exit(0)


main()

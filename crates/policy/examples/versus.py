# One replay of a table of references by libcachesim: prints hits and CPU nanoseconds, reading counted.
import sys
import time

import libcachesim as lc

path, policy, capacity, hash_power = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
begin = time.process_time_ns()
if policy == "Belady":
    # Only this format tells when an object is used next.
    reader = lc.TraceReader(path, lc.TraceType.ORACLE_GENERAL_TRACE, lc.ReaderInitParam(ignore_obj_size=True))
else:
    parameters = lc.ReaderInitParam(
        has_header=True,
        has_header_set=True,
        delimiter=",",
        obj_id_is_num=True,
        obj_id_is_num_set=True,
        ignore_obj_size=True,
    )
    parameters.time_field, parameters.obj_id_field, parameters.obj_size_field = 1, 2, 3
    reader = lc.TraceReader(path, lc.TraceType.CSV_TRACE, parameters)
cache = getattr(lc, policy)(capacity, hashpower=hash_power)
missed, _ = cache.process_trace(reader)
end = time.process_time_ns()
requests = reader.get_num_of_req()
print(round((1 - missed) * requests), end - begin)

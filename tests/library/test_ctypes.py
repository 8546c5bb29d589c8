#!/usr/bin/env python3
"""test_ctypes.py LIBRARY MODEL: a program that declares no struct of the library sets options and reads results."""
import ctypes
import sys

tr = ctypes.CDLL(sys.argv[1])
tr.tr_results_hypothesis_text.restype = tr.tr_error_message.restype = ctypes.c_char_p
tr.tr_results_hypothesis_float.restype = ctypes.c_double
tr.tr_results_int.restype = ctypes.c_int64
tr.tr_error_create.restype = tr.tr_queue_wait.restype = tr.tr_event_results.restype = ctypes.c_void_p
error = ctypes.c_void_p(tr.tr_error_create())


def check(status):
    if status:
        sys.exit(tr.tr_error_message(error).decode())


model, queue, options, ticket = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
check(tr.tr_model_open(sys.argv[2].encode(), None, ctypes.byref(model), error))
check(tr.tr_options_create(ctypes.byref(options), error))
for name, value in {"beam": 4, "n_best": 3, "threads": 1}.items():
    check(tr.tr_options_set_int(options, name.encode(), ctypes.c_int64(value), error))
for name, value in {"source_language": "zh", "target_language": "en", "priority": "high"}.items():
    check(tr.tr_options_set_string(options, name.encode(), value.encode(), error))
check(tr.tr_options_set_float(options, b"length_penalty", ctypes.c_double(1.2), error))
assert tr.tr_options_set_int(options, b"beams", ctypes.c_int64(4), error), "an unknown name was accepted"
check(tr.tr_queue_create(model, options, ctypes.byref(queue), error))
text = (ctypes.c_char_p * 1)("今天天气很好".encode())
check(tr.tr_queue_submit(queue, text, None, ctypes.c_size_t(1), options, ctypes.byref(ticket), error))
event = ctypes.c_void_p(tr.tr_queue_wait(queue, ticket, ctypes.c_int64(-1)))
results, i = ctypes.c_void_p(tr.tr_event_results(event)), ctypes.c_size_t(0)
count = tr.tr_results_int(results, i, b"hypotheses")
texts = [tr.tr_results_hypothesis_text(results, i, ctypes.c_size_t(h), None).decode() for h in range(count)]
scores = [tr.tr_results_hypothesis_float(results, i, ctypes.c_size_t(h), b"score") for h in range(count)]
print(*zip(scores, texts), sep="\n")
assert count == 3 and len(set(texts)) == 3 and scores == sorted(scores, reverse=True) and scores[0] < 0
tr.tr_event_free(event)
tr.tr_queue_destroy(queue)
tr.tr_options_free(options)
tr.tr_model_close(model)
tr.tr_free(error)

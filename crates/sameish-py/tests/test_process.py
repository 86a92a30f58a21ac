"""The package in a process: signals, threads, forks, leaks, progress."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import sameish

WORDS = "storm hits the coast bridge closed market opened now river council voted monday spring".split()


def corpus_of(n, seed=1, words=60):
    rng = np.random.default_rng(seed)
    return [" ".join(WORDS[i] + str(j) for i, j in zip(rng.integers(0, len(WORDS), words), rng.integers(0, 50, words))) for _ in range(n)]


def slow_to_ask():
    """An engine whose pairs take many seconds, though there are none: candidates abound."""
    engine = sameish.Engine("headlines", linkage="cohesive")
    engine.add_many(range(20_000), corpus_of(20_000))
    return engine


LONG_CALLS = {
    "minhash": "sameish.MinHasher(1024).sketch_many([t * 100 for t in texts] * 200, threads=1)",
    "add_many": "sameish.Engine('copies').add_many(range(len(texts) * 400), texts * 400, threads=1)",
    "dedup": "sameish.dedup([t + str(i) for i in range(400) for t in texts], threads=1, preset='headlines')",
    "corpus": "c.insert_bulk(h[:500_000]); [c.find_all_bulk(h) for _ in iter(int, 1)]",
    "build": "[sameish.Corpus(6, 3).insert_bulk(h) for _ in iter(int, 1)]",
    "pairs": "e.pairs()",
    "greedy": "[e.clusters() for _ in iter(int, 1)]",
    "sdr": "sameish.SdrEncoder(2048, 41).encode(' '.join(texts * 50))",
    "add": "[sameish.Engine('copies').add(1, ' '.join(texts * 200)) for _ in iter(int, 1)]",
    "compare": "[sameish.compare(texts[0] * 2000, texts[1] * 2000) for _ in iter(int, 1)]",
}

BEFORE = {
    "pairs": "e = slow_to_ask()",
    "greedy": "e = sameish.Engine('wire'); e.add_many(range(200_000), [str(i) for i in range(200_000)])",
}


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("name", LONG_CALLS)
def test_ctrl_c_ends_a_long_call_soon(name):
    """Each call would go on for far longer than the bound, which is generous: `bench/python/run` measures how soon."""
    code = f"""
        import sameish, numpy as np, sys, time, threading, os, signal
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        from test_process import corpus_of, slow_to_ask
        texts = corpus_of(1000)
        h = np.random.default_rng(1).integers(0, 2**64, 3_000_000, dtype=np.uint64)
        c = sameish.Corpus(6, 3)
        {BEFORE.get(name, "")}
        sent = []
        def send():
            time.sleep(0.4)
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=send).start()
        try:
            {LONG_CALLS[name]}
            print("finished")
        except KeyboardInterrupt:
            print(time.monotonic() - sent[0])
        sys.stdout.flush()
        os._exit(0)
    """
    out = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=100)
    assert out.stdout.strip() != "finished", "too short a call to be interrupted"
    assert float(out.stdout) < 10, out


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_save_that_is_broken_off_leaves_the_old_file_alone(tmp_path):
    code = """
        import sameish, sys, threading, time, os, signal
        from test_process import corpus_of
        engine = sameish.Engine('copies')
        engine.add_many(range(5000), corpus_of(5000))
        threading.Thread(target=lambda: (time.sleep(0.3), os.kill(os.getpid(), signal.SIGINT))).start()
        try:
            while True:
                engine.save(sys.argv[1])
        except KeyboardInterrupt:
            print(len(sameish.Engine.load(sys.argv[1])), len(engine))
    """
    path = tmp_path / "engine"
    sameish.Engine("copies").save(path)
    run = [sys.executable, "-c", textwrap.dedent(code), str(path)]
    out = subprocess.run(run, capture_output=True, text=True, timeout=100, env={**os.environ, "PYTHONPATH": os.path.dirname(__file__)})
    assert out.stdout in ("5000 5000\n", "0 5000\n"), out
    assert [file.name for file in tmp_path.iterdir()] == ["engine"]


def test_the_interpreter_lock_is_released():
    """Another thread of Python counts on while a long call works: in one of many, for a busy machine may run it late."""
    texts, ticks, done = corpus_of(3000), [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    def counted():
        begun = len(ticks)
        sameish.MinHasher(512).sketch_many(texts, threads=1)
        return len(ticks) - begun

    ticker = threading.Thread(target=tick)
    ticker.start()
    released = any(counted() > 3 for _ in range(100))
    done.set()
    ticker.join()
    assert released


def test_many_threads_on_one_engine_and_one_corpus():
    engine, corpus = sameish.Engine("copies"), sameish.Corpus(6, 3)
    texts, faults = corpus_of(80), []

    def work(first):
        try:
            for i in range(first, len(texts), 8):
                engine.add(i, texts[i])
                corpus.insert(i << 20)
                assert i in engine and engine.search(texts[i])[0].similarity == 1.0
                assert corpus.find_first(i << 20) is not None
                corpus.find_all_bulk([i << 20] * 20)
                engine.search_id(i)
                len(engine), engine.pairs()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not faults and len(engine) == len(corpus) == 80
    # The order of arrival decides who is `a`, not who matches.
    alone = sameish.Engine("copies")
    alone.add_many(range(80), texts)
    assert {frozenset((p.a, p.b)) for p in engine.pairs()} == {frozenset((p.a, p.b)) for p in alone.pairs()}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_works_after_a_fork():
    engine, texts = sameish.Engine("copies"), corpus_of(200)
    engine.add_many(range(200), texts, threads=2)
    rows = sameish.MinHasher().sketch_many(texts, threads=2)
    child = os.fork()
    if child == 0:
        ok = engine.search(texts[7])[0].id == 7
        engine.add_many(range(200, 400), texts, threads=2)
        ok = ok and len(engine) == 400 and (sameish.MinHasher().sketch_many(texts, threads=2) == rows).all()
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert len(engine) == 200


def handled(*_):
    raise KeyboardInterrupt


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_a_fork_after_a_broken_off_call_has_no_lock():
    engine = slow_to_ask()
    before = signal.signal(signal.SIGALRM, handled)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        engine.pairs()
    except KeyboardInterrupt:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(20)
            engine.add("new", "storm hits the coast")
            os._exit(0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_waiting_for_another_thread_ends_with_a_signal():
    """A thread asks for pairs, as good as for ever; who wants to change something can give up."""
    engine = slow_to_ask()
    begun, over = threading.Event(), threading.Event()

    def progress(done, total):
        begun.set()
        if over.is_set():
            raise LookupError

    def ask():
        try:
            engine.pairs(progress=progress)
        except LookupError:
            pass

    asking = threading.Thread(target=ask)
    asking.start()
    begun.wait(20)
    before = signal.signal(signal.SIGALRM, handled)
    try:
        for change in (lambda: engine.add(1, "x"), lambda: engine.add_many([1], ["x"]), lambda: engine.add_many(range(20), ["x"] * 20)):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(KeyboardInterrupt):
                change()
    finally:
        signal.signal(signal.SIGALRM, before)
        over.set()
        asking.join()


def test_who_changes_something_is_not_passed_by():
    """Of those that ask without a pause, each gets through once or twice before the one that waits; not for ever. A question
    takes longer than the one that waits holds its breath."""
    engine, stop, asked = sameish.Engine("headlines", linkage="cohesive"), threading.Event(), [0] * 4
    engine.add_many(range(6000), corpus_of(6000))

    def ask(i):
        while not stop.is_set():
            engine.pairs()
            asked[i] += 1

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    [thread.start() for thread in threads]
    try:
        for i in range(4):
            before = sum(asked)
            engine.add(f"new {i}", "storm hits the coast")
            assert sum(asked) - before <= 12
    finally:
        stop.set()
        [thread.join() for thread in threads]


def test_progress_rises_once():
    texts = corpus_of(3000)
    for call in (sameish.pairs, sameish.cluster, sameish.dedup, lambda texts, **more: sameish.Engine().add_many(range(len(texts)), texts, **more)):
        told = []
        call(texts, threads=1, progress=lambda done, total: told.append((done, total)))
        assert told == sorted(told) and told[-1] == (3000, 3000) and told.count((3000, 3000)) == 1


def test_progress_is_told_and_its_fault_ends_the_call():
    told = []
    texts = corpus_of(2000)
    sameish.MinHasher(1024).sketch_many(texts * 4, threads=1, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (8000, 8000) and told == sorted(told)

    def broken(done, total):
        raise LookupError("mine")

    engine = sameish.Engine("copies")
    with pytest.raises(LookupError, match="mine"):
        engine.add_many(range(2000), texts, progress=broken)
    with pytest.raises(LookupError):
        sameish.Corpus(6, 3).insert_bulk([1], progress=broken)
    with pytest.raises(TypeError):
        sameish.dedup(texts[:10], progress=7)


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_no_leak_over_a_hundred_thousand_calls():
    engine, corpus, hasher, encoder = sameish.Engine("wire"), sameish.Corpus(6, 3), sameish.MinHasher(16), sameish.SdrEncoder(64, 5)
    texts = corpus_of(20, words=8)
    prints = np.arange(8, dtype=np.uint64)
    import pyarrow as pa

    column = pa.array(texts[:4])

    def round_(i):
        text = texts[i % 20]
        engine.add(i % 10, text)
        engine.search(text)
        engine.sketch(text)
        corpus.insert(i % 50)
        corpus.find_all(i)
        corpus.remove(i % 50)
        hasher.sketch(text)
        encoder.encode(text).dense
        sameish.hamming(i, i + 1)
        if i % 20 == 0:
            corpus.find_all_bulk(prints)[0]
            corpus.find_first_bulk(prints)
            hasher.sketch_many(column, threads=1)
            sameish.compare(text, texts[0])
            sameish.dedup(texts[:3], threads=1)
            for wrong in (None, "half \ud800", 2**70):
                try:
                    corpus.insert(wrong)
                except sameish.Error:
                    pass
        return 10

    for i in range(2500):
        round_(i)
    gc.collect()
    before, calls = resident(), 0
    for i in range(10_000):
        calls += round_(i)
    gc.collect()
    grown = resident() - before
    assert calls >= 100_000 and grown <= 1 << 20, f"{grown} bytes"


def refused(corpus):
    try:
        corpus.insert("half \ud800")
    except sameish.Error:
        pass


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
@pytest.mark.parametrize("name", ["hamming", "find_all", "sketch", "encode", "search", "add", "refused"])
def test_no_leak_over_a_hundred_thousand_calls_of_one(name):
    """Ten bytes a call would be too many."""
    corpus, engine, hasher, encoder = sameish.Corpus(6, 3), sameish.Engine("wire"), sameish.MinHasher(16), sameish.SdrEncoder(64, 5)
    corpus.insert_bulk(range(10))
    engine.add("other", "storm hits the coast")
    call = {
        "hamming": lambda: sameish.hamming(3, "f10893b1083a30a2"),
        "find_all": lambda: corpus.find_all(7),
        "sketch": lambda: hasher.sketch("storm hits the coast").rows,
        "encode": lambda: encoder.encode("storm hits").sparse,
        "search": lambda: engine.search("storm hits the coast"),
        "add": lambda: engine.add(1, "storm hits the coast again"),
        "refused": lambda: refused(corpus),
    }[name]
    for _ in range(20_000):
        call()
    gc.collect()
    before = resident()
    for _ in range(100_000):
        call()
    gc.collect()
    assert resident() - before <= 1 << 20


def test_leaving_while_a_thread_works_is_clean():
    code = """
        import sameish, threading
        texts = ["word %d here and there " % i * 50 for i in range(20000)]
        thread = threading.Thread(target=lambda: sameish.MinHasher(1024).sketch_many(texts * 20, threads=1), daemon=True)
        thread.start()
        import time; time.sleep(0.2)
    """
    out = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert out.returncode == 0 and out.stderr == "", out

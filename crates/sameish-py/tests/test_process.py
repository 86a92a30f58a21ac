"""Signals, threads, forks, memory leaks and progress callbacks."""

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


def engine_with_slow_pairs():
    """Returns an engine that takes many seconds to find its pairs, because there are many candidates and no matches."""
    engine = sameish.Engine("headlines", linkage="cohesive")
    engine.add_many(range(20_000), corpus_of(20_000))
    return engine


LONG_CALLS = {
    "minhash": "sameish.MinHasher(1024).sketch_many([t * 100 for t in texts] * 200, threads=1)",
    "add_many": "sameish.Engine('copies').add_many(range(len(texts) * 400), texts * 400, threads=1)",
    "dedup": "sameish.dedup([t + str(i) for i in range(400) for t in texts], threads=1, preset='headlines')",
    "compare all": "sameish.pairs(many, preset='headlines', threads=1)",
    "cluster all": "sameish.cluster(many, preset='headlines', threads=1)",
    "file": "[sameish.dedup(path, threads=1, preset='headlines') for _ in iter(int, 1)]",
    "pipe": "sameish.dedup(pipe)",
    "corpus": "c.insert_bulk(h[:500_000]); [c.find_all_bulk(h) for _ in iter(int, 1)]",
    "fingerprint pairs": "[sameish.fingerprint_pairs(h) for _ in iter(int, 1)]",
    "build": "[sameish.Corpus(6, 3).insert_bulk(h) for _ in iter(int, 1)]",
    "pairs": "e.pairs()",
    "greedy": "[e.clusters() for _ in iter(int, 1)]",
    "sdr": "sameish.SdrEncoder(2048, 41).encode(' '.join(texts * 50))",
    "add": "[sameish.Engine('copies').add(1, ' '.join(texts * 200)) for _ in iter(int, 1)]",
    "compare": "[sameish.compare(texts[0] * 2000, texts[1] * 2000) for _ in iter(int, 1)]",
}

SETUP = {
    "compare all": "many = corpus_of(20_000)",
    "cluster all": "many = corpus_of(20_000)",
    "file": "path = os.path.join(tempfile.mkdtemp(), 'a.txt'); open(path, 'w').write('\\n'.join(corpus_of(20_000)))",
    "pipe": "pipe = os.path.join(tempfile.mkdtemp(), 'a.txt'); os.mkfifo(pipe)",
    "pairs": "e = engine_with_slow_pairs()",
    "greedy": "e = sameish.Engine('wire'); e.add_many(range(200_000), [str(i) for i in range(200_000)])",
}


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("name", LONG_CALLS)
def test_ctrl_c_interrupts_long_calls(name):
    """Each call takes far longer than the limit, which is generous; `bench/python/run` measures the delay."""
    code = f"""
        import sameish, numpy as np, sys, tempfile, time, threading, os, signal
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        from test_process import corpus_of, engine_with_slow_pairs
        texts = corpus_of(1000)
        h = np.random.default_rng(1).integers(0, 2**64, 3_000_000, dtype=np.uint64)
        c = sameish.Corpus(6, 3)
        {SETUP.get(name, "")}
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
    assert out.stdout.strip() != "finished", "the call ended before the signal"
    assert float(out.stdout) < 10, out


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_interrupted_save_keeps_a_valid_file(tmp_path):
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


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_interrupted_dedup_leaves_no_temporary_file_and_no_running_writer(tmp_path):
    code = """
        import sameish, sys, threading, time, os, signal
        path, directory = sys.argv[1:]
        names = lambda: sorted(os.listdir(directory))
        before = names()
        def send():
            # The signal is sent while the kept records are written: then there is a temporary file.
            while names() == before:
                time.sleep(0.0005)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=send, daemon=True).start()
        try:
            sameish.dedup(path, output=os.path.join(directory, "kept.jsonl.gz"))
            print("finished")
        except KeyboardInterrupt:
            after = names()
            time.sleep(1)
            print(after == names() and all(name == "kept.jsonl.gz" for name in after), threading.active_count() <= 2)
    """
    path, output = tmp_path / "news.jsonl", tmp_path / "out"
    output.mkdir()
    path.write_text("".join(f'{{"text": "{text}"}}\n' for text in corpus_of(10_000, words=150)))
    run = [sys.executable, "-c", textwrap.dedent(code), str(path), str(output)]
    out = subprocess.run(run, capture_output=True, text=True, timeout=100)
    assert out.stdout == "True True\n", out


def test_long_calls_release_the_gil():
    """Another thread runs during a long call. The test repeats the call, because a busy machine may schedule the thread late."""
    texts, ticks, done = corpus_of(3000), [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    def ticks_during_call():
        before = len(ticks)
        sameish.MinHasher(512).sketch_many(texts, threads=1)
        return len(ticks) - before

    ticker = threading.Thread(target=tick)
    ticker.start()
    released = any(ticks_during_call() > 3 for _ in range(100))
    done.set()
    ticker.join()
    assert released


def test_threads_share_an_engine_and_a_corpus():
    engine, corpus = sameish.Engine("copies"), sameish.Corpus(6, 3)
    texts, errors = corpus_of(80), []

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
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not errors and len(engine) == len(corpus) == 80
    # The order of insertion determines which document is `a`, not which documents match.
    single = sameish.Engine("copies")
    single.add_many(range(80), texts)
    assert {frozenset((p.a, p.b)) for p in engine.pairs()} == {frozenset((p.a, p.b)) for p in single.pairs()}


def exit_code_of_child(work):
    """Forks and runs `work` in the child. Returns 0 if it returns True within 20 seconds."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(20)
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_works_in_a_forked_process():
    engine, texts = sameish.Engine("copies"), corpus_of(200)
    engine.add_many(range(200), texts, threads=2)
    rows = sameish.MinHasher().sketch_many(texts, threads=2)

    def use():
        first = engine.search(texts[7])[0].id
        engine.add_many(range(200, 400), texts, threads=2)
        return first == 7 and len(engine) == 400 and (sameish.MinHasher().sketch_many(texts, threads=2) == rows).all()

    assert exit_code_of_child(use) == 0
    assert len(engine) == 200


def interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_interrupted_call_holds_no_lock_in_a_forked_process():
    engine = engine_with_slow_pairs()
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            engine.pairs()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert exit_code_of_child(lambda: engine.add("new", "storm hits the coast").status == "too_short") == 0


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_signal_interrupts_waiting_for_another_thread():
    """While one thread reads the engine for a long time, a signal interrupts a thread that waits to change it."""
    engine = engine_with_slow_pairs()
    started, stop = threading.Event(), threading.Event()

    def progress(done, total):
        started.set()
        if stop.is_set():
            raise LookupError

    def read():
        try:
            engine.pairs(progress=progress)
        except LookupError:
            pass

    reader = threading.Thread(target=read)
    reader.start()
    assert started.wait(20)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for change in (lambda: engine.add(1, "x"), lambda: engine.add_many([1], ["x"]), lambda: engine.add_many(range(20), ["x"] * 20)):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(KeyboardInterrupt):
                change()
    finally:
        signal.signal(signal.SIGALRM, before)
        stop.set()
        reader.join()


def test_readers_do_not_starve_a_writer():
    """Before a waiting writer, each of several continuous readers proceeds only once or twice. A read takes longer than one
    attempt of the writer to take the lock."""
    engine, stop, reads = sameish.Engine("headlines", linkage="cohesive"), threading.Event(), [0] * 4
    engine.add_many(range(6000), corpus_of(6000))

    def read(i):
        while not stop.is_set():
            engine.pairs()
            reads[i] += 1

    threads = [threading.Thread(target=read, args=(i,)) for i in range(4)]
    [thread.start() for thread in threads]
    try:
        for i in range(4):
            before = sum(reads)
            engine.add(f"new {i}", "storm hits the coast")
            assert sum(reads) - before <= 12
    finally:
        stop.set()
        [thread.join() for thread in threads]


def test_progress_ascends_to_the_total():
    texts = corpus_of(3000)
    for call in (sameish.pairs, sameish.cluster, sameish.dedup, lambda texts, **more: sameish.Engine().add_many(range(len(texts)), texts, **more)):
        reported = []
        call(texts, threads=1, progress=lambda done, total: reported.append((done, total)))
        assert reported == sorted(reported) and reported[-1] == (3000, 3000) and reported.count((3000, 3000)) == 1


def test_exception_of_the_progress_callback_ends_the_call():
    reported = []
    texts = corpus_of(2000)
    sameish.MinHasher(1024).sketch_many(texts * 4, threads=1, progress=lambda done, total: reported.append((done, total)))
    assert reported[-1] == (8000, 8000) and reported == sorted(reported)

    def broken(done, total):
        raise LookupError("broken")

    engine = sameish.Engine("copies")
    with pytest.raises(LookupError, match="broken"):
        engine.add_many(range(2000), texts, progress=broken)
    with pytest.raises(LookupError):
        sameish.Corpus(6, 3).insert_bulk([1], progress=broken)
    with pytest.raises(TypeError):
        sameish.dedup(texts[:10], progress=7)


def resident():
    """Returns the resident memory in bytes."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_mixed_calls_do_not_leak():
    engine, corpus, hasher, encoder = sameish.Engine("wire"), sameish.Corpus(6, 3), sameish.MinHasher(16), sameish.SdrEncoder(64, 5)
    texts = corpus_of(20, words=8)
    fingerprints = np.arange(8, dtype=np.uint64)
    import pyarrow as pa

    column = pa.array(texts[:4])

    def call_each(i):
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
            corpus.find_all_bulk(fingerprints)[0]
            corpus.find_first_bulk(fingerprints)
            hasher.sketch_many(column, threads=1)
            sameish.compare(text, texts[0])
            sameish.dedup(texts[:3], threads=1)
            for invalid in (None, "unpaired \ud800", 2**70):
                try:
                    corpus.insert(invalid)
                except sameish.Error:
                    pass
        return 10

    for i in range(2500):
        call_each(i)
    gc.collect()
    before, calls = resident(), 0
    for i in range(10_000):
        calls += call_each(i)
    gc.collect()
    growth = resident() - before
    assert calls >= 100_000 and growth <= 1 << 20, f"{growth} bytes"


def insert_invalid(corpus):
    try:
        corpus.insert("unpaired \ud800")
    except sameish.Error:
        pass


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
@pytest.mark.parametrize("name", ["hamming", "find_all", "sketch", "encode", "search", "add", "insert_invalid"])
def test_repeated_calls_do_not_leak(name):
    """100,000 calls take at most 1 MiB, which is about 10 bytes per call."""
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
        "insert_invalid": lambda: insert_invalid(corpus),
    }[name]
    for _ in range(20_000):
        call()
    gc.collect()
    before = resident()
    for _ in range(100_000):
        call()
    gc.collect()
    assert resident() - before <= 1 << 20


def test_process_exits_cleanly_during_a_call():
    code = """
        import sameish, threading
        texts = ["word %d here and there " % i * 50 for i in range(20000)]
        thread = threading.Thread(target=lambda: sameish.MinHasher(1024).sketch_many(texts * 20, threads=1), daemon=True)
        thread.start()
        import time; time.sleep(0.2)
    """
    out = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert out.returncode == 0 and out.stderr == "", out

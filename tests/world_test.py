"""The world outside: logs that cannot be written, outputs that are inputs, killed runs, links, damaged journals, inputs without end."""

import fcntl
import os
import signal
import struct
import subprocess
import time

import pytest

from support import Result, check_sound, gzipped, is_sanitized, small_csv

GOOD = small_csv()
FAST = ["--kernels", "linear gauss:1"]


def shell(coterie, script, timeout=120):
    """Runs a script of sh in the folder; "$COTERIE" is the program, and the exit code that of the script."""
    done = subprocess.run(["sh", "-c", script], cwd=coterie.folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout,
                          env={**os.environ, "COTERIE": coterie.path}, restore_signals=True)
    return check_sound(Result(["sh", "-c", script], done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")))


@pytest.fixture
def data(coterie):
    coterie.write("d.csv", GOOD)
    return coterie


@pytest.fixture
def model(data):
    data("train", "d.csv", *FAST, "-o", "m.h5", "--quiet")
    return data


# Standard error and standard output


# A pipe whose reader is gone: the exit code of the program goes through a file.
CLOSED_PIPE = "{{ sleep 0.2; {command} 2>&1 >/dev/null; echo $? > code; }} | true; sleep 0.1; while [ ! -s code ]; do sleep 0.05; done; exit $(cat code)"


@pytest.mark.parametrize("how", ["2>/dev/full", "2>&-", CLOSED_PIPE], ids=["full", "closed", "pipe"])
@pytest.mark.parametrize("arguments, output, code", [
    ("train d.csv -o out.h5", "out.h5", 0),
    ("train d.csv -o out.h5 --max-steps 1 --tolerance 1e-12", "out.h5", 3),  # with a warning
    ("train d.csv -o out.h5 --calibrate platt --folds 2", "out.h5", 0),
    ("select d.csv -o out.h5 --C 1 --lambda 0,inf --folds 2", "out.h5", 0),
    ("path d.csv -o out", "out/path.csv", 0),
    ("predict m.h5 d.csv -o out.csv", "out.csv", 0),
    ("evaluate m.h5 d.csv", None, 0),
    ("train none.csv -o out.h5", None, 2),
    ("train d.csv --nonsense", None, 2),
], ids=lambda value: value if isinstance(value, str) and " " in value else "")
def test_lost_messages_cost_nothing_else(model, how, arguments, output, code):
    command = f'"$COTERIE" {arguments}'
    if code == 0 and "--" not in arguments and arguments.startswith("train"):
        command += " --kernels gauss:1"
    result = shell(model, how.format(command=command) if "{command}" in how else f"{command} {how} >/dev/null")
    assert result.code == code, result.describe()
    if output:
        assert (model.folder / output).stat().st_size > 0
    if output == "out.h5":
        assert model("inspect", "out.h5", "--json").json["tasks"]


def test_a_closed_standard_error_is_no_output_file(data):
    """The next file that is opened would get its number, and the messages with it."""
    plain = data("train", "d.csv", *FAST, "-o", "a.h5")
    assert "reading d.csv" in plain.err
    assert shell(data, f'"$COTERIE" train d.csv --kernels "{FAST[1]}" -o b.h5 0<&- 1>/dev/null 2>&-').code == 0
    assert (data.folder / "a.h5").read_bytes() == (data.folder / "b.h5").read_bytes()
    assert shell(data, '"$COTERIE" select d.csv --kernels gauss:1 --C 1 --lambda 0,1 -o c.h5 0<&- 1>&- 2>&-').code == 1
    assert data("inspect", "c.h5", "--json").json["status"] == "converged"
    assert sorted(path.name for path in data.folder.iterdir()) == ["a.h5", "b.h5", "c.h5", "d.csv"]


@pytest.mark.parametrize("how", [">/dev/full", ">&-", "PIPE"], ids=["full", "closed", "pipe"])
@pytest.mark.parametrize("arguments", ["train d.csv -o out.h5 --json", "predict m.h5 d.csv", "predict m.h5 d.csv --json", "inspect m.h5",
                                       "evaluate m.h5 d.csv --json", "methods", "--help", "train --help", "--version"])
def test_lost_results_are_an_error(model, how, arguments):
    command = f'"$COTERIE" {arguments}'
    if how == "PIPE":
        script = f"{{ {{ sleep 0.2; {command} 2>err; }}; echo $? > code; }} | true; sleep 0.1; while [ ! -s code ]; do sleep 0.05; done; cat err >&2; exit $(cat code)"
    else:
        script = f"{command} {how}"
    result = shell(model, script)
    # Whoever closed a pipe has seen enough: no word about it. Anything else that loses a result is said.
    said = "error: standard output cannot be written: " in result.err
    assert result.code == 1 and said == (how != "PIPE") and ("error" in result.err) == said, result.describe()
    if "out.h5" in arguments:
        assert model("inspect", "out.h5", "--json").json["tasks"]


# Outputs that are inputs, or other outputs


def spellings(folder, name):
    """The same file under other names."""
    (folder / "sub").mkdir(exist_ok=True)
    (folder / "hard").hardlink_to(folder / name)
    (folder / "soft").symlink_to(name)
    (folder / "far").symlink_to("soft")
    return [name, f"./{name}", f"sub/../{name}", str(folder / name), "hard", "soft", "far"]


INPUTS = {
    "train": ("g.csv", "train d.csv --task-graph g.csv --lambda 1 -o {}"),
    "train-C": ("c.csv", "train d.csv --task-C c.csv -o {}"),
    "train-kernel": ("K.csv", "train d.csv --kernels precomputed:K.csv -o {}"),
    "train-kernel-raw": ("K.csv", "train d.csv --kernels precomputed:./K.csv:raw -o {}"),
    "train-data": ("d.csv", "train d.csv -o {}"),
    "train-second": ("e.csv", "train d.csv e.csv -o {}"),
    "train-task": ("d.csv", "train d.csv:a -o {}"),
    "train-gzip": ("z.csv.gz", "train z.csv.gz -o {}"),
    "select": ("g.csv", "select d.csv --task-graph g.csv -o {}"),
    "path": ("c.csv", "path d.csv --task-C c.csv --groups 1 --model {}"),
    "predict-data": ("d.csv", "predict m.h5 d.csv -o {}"),
    "predict-model": ("m.h5", "predict m.h5 d.csv -o {}"),
    "predict-kernel": ("K.csv", "predict m.h5 d.csv --precomputed x=K.csv -o {}"),
    "extend-model": ("m.h5", "extend m.h5 e.csv -o {}"),
    "extend-links": ("l.csv", "extend m.h5 e.csv --links l.csv -o {}"),
    "extend-data": ("e.csv", "extend m.h5 e.csv -o {}"),
}


@pytest.fixture
def inputs(model):
    model.write("g.csv", "task_a,task_b\na,b\n")
    model.write("l.csv", "task_a,task_b\na,c\n")
    model.write("c.csv", "task,C\na,2\n")
    model.write("K.csv", "1,0\n0,1\n")
    model.write("e.csv", small_csv(tasks=("c",)))
    model.write("z.csv.gz", gzipped(GOOD))
    return model


@pytest.mark.parametrize("name", INPUTS)
def test_an_input_is_never_an_output(inputs, name):
    target, command = INPUTS[name]
    for spelling in spellings(inputs.folder, target):
        before = inputs.files()
        result = inputs(*command.format(spelling).split(), code=2)
        assert f"{spelling} is also an input" in result.err and "choose another name." in result.err, result.describe()
        assert "reading" not in result.err, "it began to work"
        assert inputs.files() == before


@pytest.mark.parametrize("command, file, says", [
    ("select d.csv --task-graph t.csv --table t.csv -o s.h5", "t.csv", "--table: t.csv is also an input"),
    ("select d.csv --task-C c.svg --picture c.svg -o s.h5", "c.svg", "--picture: c.svg is also an input"),
    ("select s.h5.journal -o s.h5", "s.h5.journal", "the journal of the search: s.h5.journal is also an input"),
    ("path p/weights.csv -o p", "p/weights.csv", "--output: p/weights.csv is also an input"),
    ("path d.csv --task-C p/tree.svg -o p", "p/tree.svg", "--output: p/tree.svg is also an input"),
    ("path p/journal -o p", "p/journal", "--output: p/journal is also an input"),
    ("data convert a-x.svm:x a-y.svm:y a.svm", "a-x.svm", "a-x.svm is also an input"),
    ("data convert a.idx b.idx", "a.idx", None),
    ("data convert a.npy b.npy", "a.npy", None),
], ids=lambda value: value.split()[0] if value and " " in value else "")
def test_files_that_are_not_named_as_outputs(inputs, command, file, says):
    (inputs.folder / "p").mkdir()
    text = GOOD if "convert" not in command else "1 1:2\n-1 1:3\n"
    inputs.write(file, text)
    inputs.write("a-y.svm", text)
    if says is None:  # labels by the usual names
        ending = os.path.splitext(file)[1]
        inputs("data", "convert", inputs.write("n.csv", "f1,f2,label\n1,2,0\n3,4,1\n"), file)
        os.link(inputs.folder / f"a-labels{ending}", inputs.folder / f"b-labels{ending}")
        says = f"b-labels{ending} is also an input"
    before = inputs.files()
    result = inputs(*command.split(), code=2)
    assert says in result.err, result.describe()
    assert inputs.files() == before


@pytest.mark.parametrize("command, says", [
    ("select d.csv -o s.csv --table ./s.csv", "two outputs would go to ./s.csv; --output, --table and --picture need names of their own."),
    ("select d.csv -o s.h5 --table link.csv --picture s.svg", "two outputs would go to "),
    ("path d.csv -o p --groups 1 --model p/path.csv", "two outputs would go to p/path.csv; the files of --output and --model need names of their own."),
    ("path d.csv -o p --groups 1 --model p/journal", "two outputs would go to p/journal"),
    ("data generate -o s.groups.csv", None),
])
def test_two_outputs_never_go_to_one_place(data, command, says):
    (data.folder / "link.csv").symlink_to("s.svg")  # which is not there yet
    (data.folder / "p").mkdir()
    if says is None:  # STEM.groups.csv of s.groups.csv is s.groups.groups.csv: two names
        data(*command.split())
        os.unlink(data.folder / "s.groups.groups.csv")
        os.symlink("s.groups.csv", data.folder / "s.groups.groups.csv")
        says = "two outputs would go to s.groups.groups.csv; the data and its groups need names of their own."
    before = data.files()
    result = data(*command.split(), code=2)
    assert says in result.err, result.describe()
    assert data.files() == before


# Links


def test_links_are_followed_and_stay_links(data):
    (data.folder / "there").mkdir()
    (data.folder / "new.h5").symlink_to("there/new.h5")
    (data.folder / "old.h5").symlink_to("there/old.h5")
    data.write("there/old.h5", "older")
    for name in ("new.h5", "old.h5"):
        data("train", "d.csv", *FAST, "-o", name)
        assert (data.folder / name).is_symlink() and not (data.folder / "there" / name).is_symlink()
        assert data("inspect", f"there/{name}", "--json").json["tasks"]
    assert sorted(os.listdir(data.folder / "there")) == ["new.h5", "old.h5"]


@pytest.mark.parametrize("target, says", [
    ("none/m.h5", "--output: link.h5 is a link to none/m.h5: the folder none does not exist; make it first, or choose another place."),
    ("link.h5", "--output: link.h5: cannot be written: Too many levels of symbolic links. Choose another place."),
])
def test_links_to_nowhere_are_refused(data, target, says):
    (data.folder / "link.h5").symlink_to(target)
    result = data("train", "d.csv", "-o", "link.h5", code=2)
    assert result.err == f"error: {says}\n"


# Killed runs


def kill_while_writing(coterie, number):
    """Kills `data generate` with SIGKILL while its temporary file is there. Returns what it left."""
    process = subprocess.Popen([coterie.path, "data", "generate", "--tasks", "40", "--samples", "3000", "-o", f"big{number}.csv"], cwd=coterie.folder,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while True:
            left = list(coterie.folder.glob(f".coterie-{process.pid}-*.tmp"))
            if left and left[0].stat().st_size > 0:
                break
            assert process.poll() is None and time.monotonic() < deadline, "never seen writing"
    finally:
        process.kill()
        process.wait()
    return left


def test_what_a_killed_run_left_is_removed_by_the_next(data):
    left = [path for number in range(2) for path in kill_while_writing(data, number)]
    # The second run removed what the first had left; what it left itself is there.
    assert [path.exists() for path in left] == [False, True]
    mine = [data.write(".coterie-notes.tmp", "mine"), data.write(f".coterie-{os.getpid()}-0.tmp", "of a process that lives")]
    held = data.write(f".coterie-{left[0].name.split('-')[1]}-7.tmp", "of another machine, which still writes")
    with open(held, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        data("train", "d.csv", *FAST, "-o", "m.h5")
    assert not left[1].exists() and all(path.exists() for path in [*mine, held])
    data("train", "d.csv", *FAST, "-o", "m.h5")
    assert sorted(data.files()) == sorted(["d.csv", "m.h5", *(path.name for path in mine)])


# Journals: a record is the length and the FNV-1a checksum of its bytes, then these


def checksum(content):
    value = 0xcbf29ce484222325
    for byte in content:
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value


def framed(content):
    return struct.pack("<QQ", len(content), checksum(content)) + content


def records_of(journal):
    """Where each record begins, and its numbers; the first is the description of the run."""
    at, found = journal.index(b"\n") + 1, []
    while at + 16 <= len(journal):
        length = struct.unpack_from("<Q", journal, at)[0]
        if at + 16 + length > len(journal):
            break
        found.append((at, journal[at + 16:at + 16 + length]))
        at += 16 + length
    return found


def interrupted_run(coterie, command, journal, size):
    process = subprocess.Popen([coterie.path, *command], cwd=coterie.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path = coterie.folder / journal
    deadline = time.monotonic() + 60
    while not (path.exists() and path.stat().st_size >= size):
        assert process.poll() is None and time.monotonic() < deadline, "ended before it could be killed"
        time.sleep(0.001)
    process.kill()
    process.wait()
    return path.read_bytes()


SELECT = ["select", "p.csv", "--C", "0.1,1,10", "--lambda", "0.1max,0.5max", "--folds", "4", "--kernels", "linear gauss:1,2,4", "-o", "s.h5"]
PATH = ["path", "p.csv", "--bootstrap", "2", "--kernels", "linear gauss:1,2,4", "-o", "p"]
HOSTILE = [float("nan"), float("inf"), -1.0, 0.5, 1e18, 1e300, 2.0**40, -2.0**62, 7.0]


@pytest.mark.parametrize("command, journal, size", [(SELECT, "s.h5.journal", 1_200), (PATH, "p/journal", 40_000)], ids=["select", "path"])
def test_hostile_journals_are_refused_and_kept(coterie, command, journal, size):
    coterie("data", "generate", "-o", "p.csv", "--tasks", "6", "--samples", "60", "--seed", "3")
    sound = interrupted_run(coterie, command, journal, size)
    path = coterie.folder / journal
    records = records_of(sound)
    assert len(records) >= 2
    refused = 0
    at, record = records[1]
    count = len(record) // 8
    for place in sorted({*range(min(16, count)), *range(0, count, max(1, count // 10)), count - 1}):
        for value in HOSTILE if place < 16 else HOSTILE[:3]:
            changed = record[:8 * place] + struct.pack("<d", value) + record[8 * place + 8:]
            content = sound[:at] + framed(changed)
            path.write_bytes(content)
            result = coterie(*command, "--resume", "--quiet", code=None)
            if result.code == 2:
                refused += 1
                assert f"error: {journal}: the journal is damaged at byte {at}: " in result.err, result.describe()
                assert f"cut the file there (truncate -s {at} {journal}); to start from scratch, run without --resume." in result.err
                assert path.read_bytes() == content
            else:  # a number that such a run could have had
                assert result.code in (0, 3), result.describe()
    assert refused > 60
    for changed in (record[:-8], record[:-1], record + bytes(8), b"", bytes(8), record[:8]):
        path.write_bytes(sound[:at] + framed(changed))
        assert "the journal is damaged at byte" in coterie(*command, "--resume", "--quiet", code=2).err
    # As the message says: cut it there, and go on.
    path.write_bytes(sound[:at] + framed(b""))
    os.truncate(path, at)
    coterie(*command, "--resume")


def test_a_damaged_record_before_others_is_refused(coterie):
    coterie("data", "generate", "-o", "p.csv", "--tasks", "6", "--samples", "60", "--seed", "3")
    sound = interrupted_run(coterie, SELECT, "s.h5.journal", 1_200)
    path = coterie.folder / "s.h5.journal"
    at = records_of(sound)[1][0]
    content = bytearray(sound + framed(b"another"))
    content[at + 20] ^= 1
    path.write_bytes(content)
    result = coterie(*SELECT, "--resume", "--quiet", code=2)
    assert f"s.h5.journal: the journal is damaged at byte {at}: the checksum of a record is not that of its contents." in result.err
    assert path.read_bytes() == content


# Inputs without end


ENDLESS = {"zero": "cat /dev/zero", "lines": "yes", "line": "tr '\\0' x < /dev/zero", "rows": "echo f1,label,task; yes 1,2,a"}


READERS = ["train /dev/stdin -o o.h5", "train d.csv --task-graph /dev/stdin -o o.h5", "train d.csv --task-C /dev/stdin -o o.h5",
           "train d.csv --kernels precomputed:/dev/stdin -o o.h5", "predict m.h5 /dev/stdin", "inspect /dev/stdin"]


@pytest.mark.parametrize("stream, arguments", [*(("zero", reader) for reader in READERS), *((stream, READERS[0]) for stream in ("lines", "line", "rows")),
                                               ("lines", READERS[1]), ("lines", READERS[3]), ("lines", READERS[5])])
def test_pipes_without_end(model, stream, arguments):
    result = shell(model, f'{{ {ENDLESS[stream]}; }} 2>/dev/null | "$COTERIE" {arguments}; exit $?', timeout=100)
    assert result.code == 2, result.describe()
    says = {"zero": "this is not text: it has NUL bytes."}.get(stream, "come through this pipe or device, which is the most that is kept in memory. Write the data to a file")
    assert ("is a device or a pipe. Name a model file." if "inspect" in arguments else says) in result.err, result.describe()


@pytest.mark.parametrize("arguments", ["train {} -o o.h5", "train d.csv --task-graph {} -o o.h5", "train d.csv --task-C {} -o o.h5",
                                       "train d.csv --kernels precomputed:{} -o o.h5", "inspect {}", "predict {} d.csv", "predict m.h5 {}",
                                       "extend m.h5 d.csv --links {} -o o.h5", "data describe {}", "data convert {} o.csv"])
def test_devices_and_folders_as_input(model, arguments):
    if "extend" in arguments:
        model.write("d.csv", small_csv(tasks=("c",)))
    for name, says in {"/dev/zero": ("NUL bytes", "is a device or a pipe"), "/dev": ("this is a folder",), "/dev/null": ("empty", "is a device or a pipe")}.items():
        start = time.monotonic()
        result = model(*arguments.format(name).split(), code=None if name == "/dev/null" else 2)
        assert any(text in result.err for text in says), result.describe()
        assert time.monotonic() - start < 20


def test_a_line_without_end(coterie):
    """In a file: a hole of 1.2 GB, which takes no room on the disk."""
    with open(coterie.folder / "d.csv", "wb") as file:
        file.write(GOOD.encode() + b"1" * 5000)
        file.truncate(1_200_000_000)
    result = coterie("train", "d.csv", "-o", "o.h5", code=2)
    assert result.err.splitlines()[-1] == "error: d.csv: line 30 has no end within its first 1024 MB. Check that this is a table, with line ends."


GZIP_BOMBS = {"d.csv.gz": ("f1,f2,label\n", "1,2,x\n3,4,y\n"), "d.svm.gz": ("", "1 1:1 2:2\n2 1:3\n"), "blank.csv.gz": ("f1,label\n1,x\n2,y\n", "\n"),
              "comments.svm.gz": ("1 1:1\n", "# nothing\n"), "line.csv.gz": ("f1,f2,label\n", "1")}


@pytest.mark.parametrize("name, command", [*((name, "train {} -o o.h5") for name in GZIP_BOMBS), ("d.csv.gz", "select {} -o o.h5"), ("d.csv.gz", "path {}")])
def test_gzip_files_that_unpack_beyond_memory(coterie, name, command):
    """64 GB of text: gzip files one behind the other are one file."""
    first, repeated = GZIP_BOMBS[name]
    many = gzipped(repeated * (64_000_000 // len(repeated)))
    with open(coterie.folder / name, "wb") as file:
        file.write(gzipped(first))
        for _ in range(1000):
            file.write(many)
    start = time.monotonic()
    process = subprocess.Popen([coterie.path, *command.format(name).split(), "--memory", "100MB"], cwd=coterie.folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    err = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    assert process.returncode == 2 and f"error: {name}: " in err, err
    says = {"d": "this unpacks to a table of more than 0.1 GB", "line": "line 2 has no end within its first"}
    assert says.get(name.split(".")[0], "this unpacks to more than 0.1 GB, over 200 times its size.") in err, err
    if not is_sanitized():
        assert time.monotonic() - start < 5 and 1024 * usage.ru_maxrss < 4e8


def test_pipes_with_an_end_still_work(model):
    plain = model("predict", "m.h5", "d.csv").out
    for stream in ("cat d.csv", "gzip -c d.csv", "{ head -c 1 d.csv; sleep 0.3; tail -c +2 d.csv; }"):
        result = shell(model, f'{stream} | "$COTERIE" predict m.h5 /dev/stdin')
        assert result.code == 0 and result.out == plain, result.describe()
    os.mkfifo(model.folder / "graph.fifo")
    result = shell(model, '{ printf "task_a,task_b\\na,b\\n" > graph.fifo & } ; "$COTERIE" train d.csv --task-graph graph.fifo -o o.h5 --lambda 1')
    assert result.code == 0, result.describe()


# Ctrl-C


def seconds_to_end(coterie, arguments, after, stop=signal.SIGINT):
    """Seconds from the signal, sent half a second after `after` was said, to the end; and the result."""
    log = coterie.folder.parent / "log"
    with open(log, "wb") as sink:
        process = subprocess.Popen([coterie.path, *map(str, arguments)], cwd=coterie.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=sink)
        try:
            deadline = time.monotonic() + 100
            while after not in log.read_text(errors="replace"):
                assert process.poll() is None and time.monotonic() < deadline, log.read_text(errors="replace")
                time.sleep(0.02)
            time.sleep(0.5)
            assert process.poll() is None, "ended before it could be stopped"
            start = time.monotonic()
            process.send_signal(stop)
            out, _ = process.communicate(timeout=100)
            seconds = time.monotonic() - start
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    return seconds, check_sound(Result(arguments, process.returncode, out.decode(), log.read_text(errors="replace")))


@pytest.fixture(scope="module")
def large_data(program_path, tmp_path_factory):
    """Rows whose matrices and eigenvalues take much longer than a second."""
    folder = tmp_path_factory.mktemp("large")
    subprocess.run([program_path, "data", "generate", "-o", folder / "p.csv", "--tasks", "2", "--groups", "1", "--samples", "3000"], check=True, capture_output=True)
    return folder / "p.csv"


@pytest.mark.parametrize("arguments, after, says", [
    (["train", "-o", "m.h5", "--normalise", "tail:8"], "preparing", "stopped; nothing was written"),
    (["select", "-o", "m.h5", "--normalise", "tail:8,tail:4", "--folds", "3"], "searching",
     "stopped before the first part of the work was done; nothing was written."),
    (["path", "-o", "p", "--normalise", "tail:8"], "preparing", "stopped before the first part of the work was done; nothing was written."),
], ids=["train", "select", "path"])
def test_ctrl_c_while_kernels_are_prepared(coterie, large_data, arguments, after, says):
    seconds, result = seconds_to_end(coterie, [arguments[0], large_data, *arguments[1:]], after)
    assert result.code == 1 and says in result.err, result.describe()
    assert seconds < 1.5
    assert coterie.files() == {}  # neither a model, nor a journal without a row, nor a new folder


@pytest.fixture(scope="module")
def one_task(program_path, tmp_path_factory):
    """One task, one SVM, and one of many features for linear methods: all take much longer than a test may wait."""
    folder = tmp_path_factory.mktemp("one")
    for arguments in (["p.csv", "--samples", "15000"], ["wide.npy", "--samples", "6000", "--structure", "weights", "--features", "2000"]):
        subprocess.run([program_path, "data", "generate", "--tasks", "1", "--noise", "0.3", "-o", *arguments], cwd=folder, check=True, capture_output=True)
    return folder


def long_fit(folder, name):
    """The command of an entry of LONG, with the data in this folder."""
    (command, data, *options), after, code = LONG[name]
    return [command, folder / data, *options], after, code


SVM = ["-C", "100", "-o", "m.h5"]
LINEAR = ["--tolerance", "1e-12", "-o", "m.h5"]  # without a feature map, which would take longer than the fit
# What is said before the signal, and the exit code: 3 where there is a model to keep.
LONG = {
    **{method: (["train", "p.csv", "--method", method, *SVM], "fitting", 3) for method in ("coterie", "stl", "mtl", "pooled", "uniform", "tang", "pareto")},
    "relative": (["train", "p.csv", "--lambda", "0.1max", *SVM], "fitting", 3),
    "published": (["train", "p.csv", "--solver", "published", "--lambda", "0", *SVM], "fitting", 3),
    **{method: (["train", "wide.npy", "--method", method, *LINEAR], "fitting", 3) for method in ("cmtl", "whom", "flexclus", "coclus", "metag")},
    "map": (["train", "p.csv", "--method", "cmtl", "--map", "kernels:3000", "-o", "m.h5"], "preparing", 1),
    "calibrate": (["train", "p.csv", "--method", "uniform", "-C", "0.01", "--tolerance", "0.1", "--kernels", "linear", "--calibrate", "platt", "--folds", "60", "-o", "m.h5"],
                  "calibrating", 3),
    "select": (["select", "p.csv", "--method", "uniform", "--C", "100", "-o", "m.h5"], "searching", 1),
    "path": (["path", "p.csv", "-C", "100", "-o", "p"], "walking", 1),
}


@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_within_a_long_fit(coterie, one_task, name):
    command, after, code = long_fit(one_task, name)
    seconds, result = seconds_to_end(coterie, command, after)
    assert result.code == code, result.describe()
    assert seconds < (20 if is_sanitized() else 5), result.describe()
    assert (coterie.folder / "m.h5").exists() == (code == 3)
    if code == 3:
        assert coterie("inspect", "m.h5", "--json").json["tasks"]


@pytest.mark.parametrize("name, limit, code, says", [
    ("uniform", 1.5, 3, "stopped at the time limit"),
    ("map", 1.5, 1, "stopped at the time limit, before there was anything to keep; nothing was written."),
    ("calibrate", 1.5, 3, "stopped before probabilities were learnt; the model has none."),
])
def test_the_time_limit_within_a_long_fit(coterie, one_task, name, limit, code, says):
    command, _, _ = long_fit(one_task, name)
    start = time.monotonic()
    result = coterie(*command, "--time-limit", limit, code=None if is_sanitized() else code)
    assert time.monotonic() - start < limit + (20 if is_sanitized() else 5)
    assert is_sanitized() or says in result.err, result.describe()


def test_ctrl_c_while_a_table_is_written(coterie):
    process = subprocess.Popen([coterie.path, "data", "generate", "--tasks", "40", "--samples", "3000", "-o", "big.csv"], cwd=coterie.folder,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size for path in coterie.folder.glob(".coterie-*.tmp")):
        assert process.poll() is None and time.monotonic() < deadline, "never seen writing"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and b"stopped; unfinished files were removed" in err
    assert list(coterie.folder.iterdir()) == []


def test_ctrl_c_while_nobody_reads_the_result(coterie):
    """The model is there; the rest waits for the reader of a pipe, but not for ever."""
    coterie("data", "generate", "-o", "p.csv", "--tasks", "300", "--samples", "6")
    process = subprocess.Popen([coterie.path, "train", "p.csv", "-o", "m.h5", "--lambda", "0", "--json"], cwd=coterie.folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 60
        while not (coterie.folder / "m.h5").exists():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(1)
        assert process.poll() is None, "the result fits into a pipe"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 1
    finally:
        process.kill()
        process.communicate()
    assert coterie("inspect", "m.h5", "--json").json["status"] == "converged"


def test_a_model_is_kept_while_probabilities_are_learnt(coterie, large_data):
    arguments = ["train", large_data, "-o", "m.h5", "--kernels", "gauss:1,2", "--normalise", "variance", "-C", "0.1", "--calibrate", "platt", "--tolerance", "0.01"]
    seconds, result = seconds_to_end(coterie, arguments, "calibrating")
    assert result.code == 3 and "stopped before probabilities were learnt; the model has none." in result.err, result.describe()
    assert seconds < 2
    assert coterie("inspect", "m.h5", "--json").json["tasks"]

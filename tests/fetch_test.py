"""coterie data fetch, against a server on loopback: nothing else is ever contacted.

What is refused is tried with invented data. What is accepted has checksums, so it is rebuilt from the folder COTERIE_DATA, where there is one, in
the form that its source has.
"""

import contextlib
import csv
import gzip
import hashlib
import io
import os
import signal
import socket
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import scipy.io

DATA = os.environ.get("COTERIE_DATA", "")
needs_data = pytest.mark.skipif(not DATA, reason="COTERIE_DATA is not set: only refusals are tried")
NAMES = ["robot", "vehicle", "image", "pen", "letter", "landmine", "mnist"]
MNIST = ["train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"]
ENVIRONMENT = {"no_proxy": "*", "NO_PROXY": "*", "COTERIE_DATA": ""}
ROBOT = "/robot/sensor_readings_24.data"  # only its table is checked
PEN = "/pen/pendigits.tra"  # the raw file is checked


class Handler(BaseHTTPRequestHandler):
    """Answers by the table of its server: path -> bytes, or a function of the handler."""

    def do_GET(self):
        self.server.asked.append(self.path)
        answer = self.server.answers.get(self.path, self.server.otherwise)
        with contextlib.suppress(ConnectionError):
            if callable(answer):
                answer(self)
            elif answer is None:
                self.send_error(404)
            else:
                self.reply(answer)

    def reply(self, body, status=200, length=None, **headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.otherwise, self.asked = {}, None, []
        self.over = threading.Event()
        self.address = f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def server():
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield running
        running.over.set()
        running.shutdown()
        thread.join()


def fetch(coterie, *arguments, code=0, **options):
    return coterie("data", "fetch", *arguments, code=code, environment=ENVIRONMENT, **options)


def refused(coterie, server, *says, code, name="robot", options=()):
    """Nothing is written; the message names the address and says why."""
    result = fetch(coterie, name, "-o", "out", "--from", server.address, "--quiet", *options, code=code)
    assert result.out == "" and result.err.startswith(f"error: {name}: {server.address}/{name}/"), result.describe()
    for text in says:
        assert text in result.err, result.describe()
    assert coterie.files() == {}, "something was left behind"
    return result


# What is not the data


def test_another_checksum_keeps_nothing_and_says_what_was_found(coterie, server):
    body = b" 1,  2\n" * 3
    server.answers[PEN] = body
    refused(coterie, server, "is not the data that was asked for", f"{len(body)} bytes", hashlib.sha256(body).hexdigest(),
            "Nothing of it is kept", code=2, name="pen")


def test_the_table_is_checked_where_no_checksum_of_the_raw_file_is_known(coterie, server):
    for part in "abcdefghi":
        server.answers[f"/vehicle/xa{part}.dat"] = b"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 van \n"
    table = ",".join(f"f{j}" for j in range(1, 19)) + ",label\n" + 9 * (",".join(map(str, range(1, 19))) + ",van\n")
    refused(coterie, server, "the table made of it and 8 more", hashlib.sha256(table.encode()).hexdigest(), code=2, name="vehicle")
    assert server.asked == [f"/vehicle/xa{part}.dat" for part in "abcdefghi"]


def test_lines_that_cannot_be(coterie, server):
    server.answers["/image/segment.dat"] = b"1 2 3\n"
    refused(coterie, server, "segment.dat:1: has 3 fields where 20 are expected", code=2, name="image")


def test_a_web_page_instead_of_the_data(coterie, server):
    server.answers[ROBOT] = b"\n<!DOCTYPE html><html><body>We have moved</body></html>"
    refused(coterie, server, "is a web page, not the data", code=2)


def test_bytes_that_are_no_gzip_and_no_matlab_file(coterie, server):
    server.answers["/letter/letter.data.gz"] = gzip.compress(b"1\ta\t-1\t1\t1\t0\n" * 1000)[:60]
    refused(coterie, server, "letter.data.gz: the gzip file", code=2, name="letter")
    server.answers["/landmine/LandmineData.mat"] = b"MATLAB 5.0 MAT-file" + bytes(200)
    refused(coterie, server, "LandmineData.mat: ", code=2, name="landmine")


def test_a_gzip_file_that_unpacks_without_an_end(coterie, server):
    server.answers["/letter/letter.data.gz"] = gzip.compress(bytes(80 << 20), 9)
    refused(coterie, server, "unpacks to more than 64 MB", code=2, name="letter")


def test_a_body_without_an_end(coterie, server):
    sent = []

    def endless(handler):
        handler.send_response(200)
        handler.end_headers()
        while not server.over.is_set():
            handler.wfile.write(bytes(1 << 20))
            sent.append(1)
    server.answers[ROBOT] = endless
    refused(coterie, server, "sends more than 32 MB", code=2)
    assert 32 <= len(sent) < 64


def test_a_body_that_is_announced_as_too_large(coterie, server):
    server.answers[ROBOT] = lambda handler: handler.reply(b"0.1,", length=1 << 40)
    refused(coterie, server, "sends more than 32 MB", code=2)


# What cannot be got


@pytest.mark.parametrize("status, says", [(404, "no such file (status 404)"), (403, "refuses it (status 403)"),
                                          (500, "status 500 instead of the file. Try later"), (204, "status 204")])
def test_bad_status(coterie, server, status, says):
    server.answers[ROBOT] = lambda handler: handler.reply(b"" if status == 204 else b"<html>sorry</html>", status)
    refused(coterie, server, says, "name it with --from", code=1)


def test_no_server(coterie):
    with socket.socket() as taken:  # bound, but nobody listens: a connection is refused
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        result = fetch(coterie, "pen", "image", "-o", "out", "--from", address, "--quiet", code=1)
    for name in ("image", "pen"):  # one that fails does not keep the other away
        assert f"error: {name}: {address}/{name}/" in result.err
    assert "no connection (" in result.err and "Is this machine online?" in result.err and "put them into a folder" in result.err
    assert coterie.files() == {}


def test_no_name(coterie):
    """A name that no resolver may know (RFC 6761); the resolver library refuses it, or a label too long, by itself."""
    result = fetch(coterie, "pen", "-o", "out", "--from", f"http://{'a' * 70}.invalid", "--quiet", code=1)
    assert f"the name {'a' * 70}.invalid cannot be looked up. Is this machine online?" in result.err
    assert coterie.files() == {}


def test_a_transfer_that_breaks_off(coterie, server):
    server.answers[ROBOT] = lambda handler: handler.reply(b"0.1,0.2", length=1000)
    refused(coterie, server, "the transfer broke off after 7 bytes. Try again", code=1)
    server.answers[ROBOT] = lambda handler: handler.connection.shutdown(socket.SHUT_RDWR)
    refused(coterie, server, "the transfer broke off after 0 bytes", code=1)


def test_a_server_that_falls_silent(coterie, server):
    def stall(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b"0.1,")
        server.over.wait(60)
    server.answers[ROBOT] = stall
    start = time.monotonic()
    refused(coterie, server, "gave up after 4 bytes", "for 2 s", "raise --timeout", code=1, options=["--timeout", "2"])
    assert 1.5 < time.monotonic() - start < 20


def test_redirections_without_an_end(coterie, server):
    server.answers[ROBOT] = lambda handler: handler.reply(b"", 302, Location=server.address + ROBOT)
    refused(coterie, server, "sent on to other addresses more than 5 times", code=1)
    assert len(server.asked) == 6


def test_redirections_stay_in_the_web(coterie, server):
    here = Path(__file__).as_uri()
    server.answers[ROBOT] = lambda handler: handler.reply(b"", 302, Location=here)
    refused(coterie, server, "an address that does not begin with http:// or https://", code=1)


def test_a_redirection_is_followed(coterie, server):
    server.answers[PEN] = lambda handler: handler.reply(b"", 301, Location="/moved")
    server.answers["/moved"] = b"something"
    refused(coterie, server, hashlib.sha256(b"something").hexdigest(), code=2, name="pen")
    assert server.asked == [PEN, "/moved"]


# Usage


@pytest.mark.parametrize("arguments, says", [
    (["robo"], "'robo' is no data set that can be fetched; did you mean robot? Choose among robot, vehicle, image, pen, letter, landmine, mnist, or all."),
    ([], "NAME is missing"),
    (["robot", "--from", "ftp://127.0.0.1/"], "--from is 'ftp://127.0.0.1/'; it must be an address that begins with http:// or https://, or a folder."),
    (["robot", "--from", "http://127.0.0.1:port"], "is no address of the web"),
    (["robot", "--from", "nowhere"], "--from is 'nowhere'"),
    (["robot", "--from", ".", "--timeout", "0"], "--timeout is '0'"),
    (["robot", "--from", "."], "robot/sensor_readings_24.data: there is no such file"),
])
def test_bad_usage(coterie, arguments, says):
    assert says in fetch(coterie, *arguments, code=2).err
    assert coterie.files() == {}


def test_a_folder_that_cannot_be_made_is_noticed_before_anything_is_fetched(coterie, server):
    coterie.write("file", "")
    before = coterie.files()
    result = fetch(coterie, "robot", "-o", "file/out", "--from", server.address, code=2)
    assert "--output: " in result.err and "file is no folder" in result.err
    assert server.asked == [] and coterie.files() == before


def test_json_holds_failures(coterie, server):
    result = fetch(coterie, "robot", "-o", "out", "--from", server.address, "--json", "--quiet", code=1)
    document = result.json
    assert document["folder"] == "out" and document["files"] == []
    assert [failure["data"] for failure in document["failed"]] == ["robot"] and "status 404" in document["failed"][0]["message"]


# Ctrl-C


def stop_when(coterie, arguments, condition):
    """(exit code, standard error) of a run that gets SIGINT as soon as the condition holds."""
    process = subprocess.Popen([coterie.path, "data", "fetch", *arguments], cwd=coterie.folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **ENVIRONMENT})
    try:
        deadline = time.monotonic() + 60
        while not condition():
            assert process.poll() is None and time.monotonic() < deadline, process.communicate()
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return process.returncode, err


def slowly(server, begun):
    def drip(handler):
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(b"0.1,")
        begun.set()
        while not server.over.wait(0.05):
            handler.wfile.write(b"0.1," * 100)
    return drip


def test_ctrl_c_leaves_nothing(coterie, server):
    begun = threading.Event()
    server.otherwise = slowly(server, begun)
    code, err = stop_when(coterie, ["robot", "-o", "out", "--from", server.address], begun.is_set)
    assert code == 1 and "stopped; nothing was written" in err
    assert f"robot: fetching {server.address}{ROBOT}" in err
    assert coterie.files() == {}


# The data itself


def table(name):
    return gzip.decompress((Path(DATA) / name).read_bytes()).decode()


def rows(name):
    return list(csv.reader(io.StringIO(table(f"{name}/data.csv.gz"))))[1:]


def raw_letter():
    lines = ("\t".join([row[129], row[128], *row[130:134], *row[:128]]) + "\t\n" for row in rows("letter"))
    return gzip.compress("".join(lines).encode(), 1)


def raw_landmine():
    """As MATLAB saves it: cells of features and of labels, a column per task."""
    by_task = {}
    for row in rows("landmine"):
        by_task.setdefault(int(row[10]), []).append(row)
    assert list(by_task) == list(range(1, 30))
    feature, label = np.empty((1, 29), object), np.empty((1, 29), object)
    for task, members in by_task.items():
        feature[0, task - 1] = np.array([[float(value) for value in row[:9]] for row in members])
        label[0, task - 1] = np.array([[float(row[9])] for row in members])
    file = io.BytesIO()
    scipy.io.savemat(file, {"feature": feature, "label": label})
    return file.getvalue()


def raw_files(name):
    """path -> bytes, in the form of the public source."""
    if name == "robot":
        return {f"/robot/{raw}": table(f"robot/{file}").partition("\n")[2].replace("\n", "\r\n").encode()
                for raw, file in (("sensor_readings_24.data", "data.csv.gz"), ("sensor_readings_4.data", "data_4sensors.csv.gz"))}
    if name == "vehicle":
        lines = [" ".join(row) + " \n" for row in rows("vehicle")]
        return {f"/vehicle/xa{part}.dat": "".join(lines[94 * k:94 * (k + 1)]).encode() for k, part in enumerate("abcdefghi")}
    if name == "image":
        return {"/image/segment.dat": "".join(" ".join(row) + "\n" for row in rows("image")).encode()}
    if name == "pen":
        lines = [",".join(f"{value:>3}" for value in row[:16]) + f", {row[16]}\n" for row in rows("pen")]
        return {"/pen/pendigits.tra": "".join(lines[:7494]).encode(), "/pen/pendigits.tes": "".join(lines[7494:]).encode()}
    if name == "letter":
        return {"/letter/letter.data.gz": raw_letter()}
    if name == "landmine":
        return {"/landmine/LandmineData.mat": raw_landmine()}
    return {f"/mnist/{file}": (Path(DATA) / "mnist" / file).read_bytes() for file in MNIST}


def files_of(name):
    return {"robot": ["data.csv.gz", "data_4sensors.csv.gz"], "mnist": MNIST}.get(name, ["data.csv.gz"])


@needs_data
@pytest.mark.parametrize("name", NAMES)
def test_the_tables_are_those_of_the_studies(coterie, server, name):
    server.answers = raw_files(name)
    result = fetch(coterie, name, "-o", "new/out", "--from", server.address + "/", "--json", "--quiet")
    assert result.err == "" and sorted(server.asked) == sorted(server.answers)
    document = result.json
    assert document["failed"] == [] and [entry["status"] for entry in document["files"]] == ["fetched"] * len(files_of(name))
    for entry, file in zip(document["files"], files_of(name)):
        assert entry["path"] == f"new/out/{name}/{file}" and entry["data"] == name
        contents = gzip.decompress((coterie.folder / entry["path"]).read_bytes())
        assert contents == gzip.decompress((Path(DATA) / name / file).read_bytes())
        assert entry["sha256"] == hashlib.sha256(contents).hexdigest()
    if name == "mnist":  # as they came
        assert all((coterie.folder / "new/out/mnist" / file).read_bytes() == server.answers[f"/mnist/{file}"] for file in MNIST)
    assert sorted(path.name for path in (coterie.folder / "new/out").rglob("*") if path.is_file()) == sorted(files_of(name))
    server.asked.clear()
    again = fetch(coterie, name, "-o", "new/out", "--from", server.address)
    assert server.asked == [] and again.err == "" and again.out.count("there ") == len(files_of(name))


@needs_data
def test_a_file_that_is_damaged_is_fetched_again(coterie, server):
    server.answers = raw_files("vehicle")
    path = coterie.folder / "out/vehicle/data.csv.gz"
    path.parent.mkdir(parents=True)
    for damage in (b"", b"\x1f\x8b\x08 no gzip", gzip.compress(b"f1,label\n1,a\n")):
        path.write_bytes(damage)
        result = fetch(coterie, "vehicle", "-o", "out", "--from", server.address)
        assert "had other contents; it is replaced" in result.err and "fetched  out/vehicle/data.csv.gz" in result.out
        assert gzip.decompress(path.read_bytes()).decode() == table("vehicle/data.csv.gz")


@needs_data
def test_what_cannot_be_got_does_not_keep_the_others_away(coterie, server):
    server.answers = raw_files("image") | {"/pen/pendigits.tra": raw_files("pen")["/pen/pendigits.tra"]}
    older = coterie.folder / "out/pen/data.csv.gz"
    older.parent.mkdir(parents=True)
    older.write_bytes(b"older")
    result = fetch(coterie, "pen", "image", "-o", "out", "--from", server.address, "--json", "--quiet", code=1)
    assert [entry["data"] for entry in result.json["files"]] == ["image"]
    assert [entry["data"] for entry in result.json["failed"]] == ["pen"]
    assert older.read_bytes() == b"older"


@needs_data
def test_ctrl_c_keeps_what_is_whole(coterie, server):
    begun = threading.Event()
    server.answers = raw_files("image")
    server.otherwise = slowly(server, begun)
    code, err = stop_when(coterie, ["image", "pen", "-o", "out", "--from", server.address], begun.is_set)
    assert code == 1 and "stopped; kept out/image/data.csv.gz. The same command fetches the others." in err
    assert [path for path, contents in coterie.files().items() if contents is not None] == ["out/image/data.csv.gz"]


@needs_data
def test_raw_files_in_a_folder_and_a_study_of_them(coterie):
    """Without a network: the files came in another way. What is made of them is a folder for COTERIE_DATA."""
    for name in ("vehicle", "landmine"):
        for path, contents in raw_files(name).items():
            target = coterie.folder / "downloads" / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(contents)
    result = coterie("data", "fetch", "landmine", "vehicle", "--from", "downloads", environment={**ENVIRONMENT, "COTERIE_DATA": "shelf"})
    assert "use them: COTERIE_DATA=shelf coterie data list" in result.out
    names = {entry["name"]: (entry["rows"], entry["features"], entry["tasks"])
             for entry in coterie("data", "list", "--json", environment={"COTERIE_DATA": "shelf"}).json["data"]}
    assert names["shelf/landmine/data.csv.gz"] == (14820, 9, 29) and names["shelf/vehicle/data.csv.gz"] == (846, 18, 0)
    study = coterie("experiment", Path(__file__).parent.parent / "experiments/paper.toml", "--quick", "--only", "vehicle 20 % #1 STL", "-o", "study",
                    environment={"COTERIE_DATA": "shelf"})
    assert "1 of 1 cell done" in study.out

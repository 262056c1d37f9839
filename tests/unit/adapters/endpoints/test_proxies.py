"""Variables of proxies and certificates: what they mean, and a message for what cannot be right."""

from __future__ import annotations

import http.server
import threading

import pytest

from pytest_t2i.adapters.endpoints import proxies
from pytest_t2i.adapters.endpoints.http_client import HttpClient
from pytest_t2i.adapters.endpoints.proxies import check_environment, proxy_of
from pytest_t2i.adapters.endpoints.services import openai_images
from pytest_t2i.data import Request
from pytest_t2i.errors import ConfigurationError, GenerationError
from pytest_t2i.protocols import AnswerLimits, LoadOptions

NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
LIMITS = AnswerLimits(seconds=20)


@pytest.fixture(autouse=True)
def _bare(monkeypatch):
    certificates = (*proxies.CERTIFICATES, proxies.FOLDER_OF_CERTIFICATES)
    for name in (*NAMES, *map(str.upper, NAMES), *certificates):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("no_proxy", "address", "is_proxied"),
    [
        ("", "https://api.example.org/v1", True),
        ("", "http://127.0.0.1:8000/v1", False),
        ("", "http://127.8.8.8/v1", False),
        ("", "http://[::1]:8000/v1", False),
        ("", "http://localhost:8000/v1", False),
        ("10.0.0.0/8,fe80::/10", "http://10.1.2.3/v1", False),
        ("10.0.0.0/8, fe80::/10", "http://[fe80::1]/v1", False),
        ("10.0.0.0/8", "http://11.1.2.3/v1", True),
        ("[2001:db8::1]", "http://[2001:db8::1]:80/v1", False),
        ("[::1],.example.org", "https://api.example.org/v1", False),
        ("example.org", "https://api.example.org/v1", False),
        ("*.example.org", "https://api.example.org/v1", False),
        ("example.org:8443", "https://api.example.org:8443/v1", False),
        ("ample.org", "https://example.org/v1", True),
        ("*", "https://api.example.org/v1", False),
    ],
)
def test_which_hosts_need_no_proxy(monkeypatch, no_proxy, address, is_proxied):
    monkeypatch.setenv("ALL_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    assert (proxy_of(address) is not None) is is_proxied


def test_the_variable_is_named_without_the_password(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "socks5://one:1")
    monkeypatch.setenv("https_proxy", "me:secret@two:2")
    assert str(proxy_of("https://example.org")) == "https_proxy=http://two:2"
    assert str(proxy_of("http://example.org")) == "ALL_PROXY=socks5://one:1"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("ALL_PROXY", "socks://u:pw@127.0.0.1:1080", "ALL_PROXY=socks://127.0.0.1:1080: expected"),
        ("all_proxy", "socks5://127.0.0.1:1080", "needs the package 'socksio'"),
        ("HTTPS_PROXY", "http://", "HTTPS_PROXY=http://: expected the address of a proxy"),
        ("HTTPS_PROXY", "http://proxy:port", "HTTPS_PROXY=http://proxy:port: expected"),
        ("SSL_CERT_FILE", "/nowhere/ca.pem", "SSL_CERT_FILE=/nowhere/ca.pem: expected a file"),
        ("SSL_CERT_DIR", "/nowhere", "SSL_CERT_DIR=/nowhere: expected"),
        ("REQUESTS_CA_BUNDLE", "/nowhere/ca.pem", "REQUESTS_CA_BUNDLE=/nowhere/ca.pem: expected"),
        ("SSL_CERT_FILE", __file__, "expected a file of certificates in PEM, got another one"),
    ],
)
@pytest.mark.parametrize(
    "use", [lambda: HttpClient("https://example.org/v1", LIMITS), check_environment]
)
def test_a_variable_that_cannot_be_right(monkeypatch, name, value, words, use):
    monkeypatch.setattr(proxies, "find_spec", lambda module: None)
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError) as raised:
        use()
    assert words in str(raised.value)
    assert "pw" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALL_PROXY", "socks://127.0.0.1:10808"),
        ("HTTP_PROXY", "http://127.0.0.1:9"),
        ("NO_PROXY", "localhost,127.0.0.1,::1,[::1],fe80::/10"),
    ],
)
def test_this_machine_needs_no_proxy(monkeypatch, name, value):
    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_):
            pass

    monkeypatch.setenv(name, value)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = HttpClient(f"http://127.0.0.1:{server.server_port}", LIMITS)
        assert client.http.get(f"http://127.0.0.1:{server.server_port}/").text == "ok"
        client.http.close()
        server.shutdown()


def test_a_dead_proxy_is_named(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://me:secret@127.0.0.1:9")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setattr("pytest_t2i.adapters.endpoints.paid_requests.START_PATIENCE", 0.0)
    source = "m@https://example.org/v1"
    model = openai_images.load(LoadOptions(source=source, answers=LIMITS))
    with pytest.raises(GenerationError) as raised:
        list(model.generate([Request("a nurse", seed=0)]))
    told = str(raised.value)
    assert "the proxy HTTPS_PROXY=http://127.0.0.1:9 cannot be used: ConnectError" in told
    assert "Check that the proxy is running" in told
    assert "endpoint is running" not in told
    assert "secret" not in told

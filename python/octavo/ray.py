"""A model in Ray Serve, as many times as there is to do.

    from ray import serve
    serve.run(octavo.ray.app("model.gguf", replicas=(1, 4)))

or by one command, on one machine or on a cluster: `serve run octavo.ray:build model=model.gguf replicas=1-4`.
docs/scaling.md says what it does. Needs: ray[serve] on every machine, and this package.
"""
from __future__ import annotations

import collections
import hashlib
import json
from typing import Any, AsyncIterator, Dict, List, Mapping, Optional, Tuple, Union

from ray import serve
from ray.exceptions import RayActorError
from ray.serve.config import RequestRouterConfig
from ray.serve.request_router import RequestRouter

_PIECE = 512  # characters of a prompt that are sent to one replica together
_MOST_PIECES = 256  # of one prompt
_ATTEMPTS = 4  # of one request, at replicas that go before they answer
# Headers of one connection, which end at it.
_OF_A_HOP = {"connection", "content-length", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}


def beginnings(body: bytes, session: Optional[str] = None) -> List[str]:
    """Names of the beginnings of what a body says, the longest first; that of the session, if it has one, before all."""
    names: List[str] = []
    try:
        asked = json.loads(body)
    except ValueError:
        asked = None
    if isinstance(asked, dict):
        said = "".join(json.dumps(asked[field], sort_keys=True)
                       for field in ("model", "tools", "system", "instructions", "messages", "prompt", "input") if field in asked)
        digest = hashlib.sha256()
        for at in range(0, min(len(said) - _PIECE + 1, _PIECE * _MOST_PIECES), _PIECE):
            digest.update(said[at:at + _PIECE].encode("utf-8", "surrogatepass"))
            names.insert(0, digest.copy().hexdigest())
    return [f"session {session}", *names] if session else names


class PrefixRouter(RequestRouter):
    """Sends a request to the replica that was sent the longest beginning of it, unless that one has much more to do than
    another. most_ahead: so many requests more. most_names: beginnings that are remembered."""

    def initialize_state(self, most_ahead: int = 8, most_names: int = 65536) -> None:
        self._most_ahead, self._most_names = most_ahead, most_names
        self._sent: "collections.OrderedDict[str, Any]" = collections.OrderedDict()  # beginning -> replica
        self._running: "collections.Counter[Any]" = collections.Counter()  # requests at a replica

    async def choose_replicas(self, candidate_replicas: List[Any], pending_request: Any = None) -> List[List[Any]]:
        by_id = {replica.replica_id: replica for replica in candidate_replicas}
        if not by_id:
            return []
        least = sorted(by_id, key=lambda replica: self._running[replica])
        names = pending_request.kwargs.get("names", []) if pending_request is not None else []
        chosen = next((self._sent[name] for name in names if self._sent.get(name) in by_id), least[0])
        if self._running[chosen] > self._running[least[0]] + self._most_ahead:
            chosen = least[0]
        return [[by_id[chosen]], [by_id[replica] for replica in least if replica != chosen]]

    def on_request_routed(self, pending_request: Any, replica_id: Any, result: Any) -> None:
        self._running[replica_id] += 1
        for name in reversed(pending_request.kwargs.get("names", [])):
            self._sent[name] = replica_id
            self._sent.move_to_end(name)
        while len(self._sent) > self._most_names:
            self._sent.popitem(last=False)

    def on_request_completed(self, replica_id: Any, internal_request_id: str) -> None:
        self._running[replica_id] -= 1


class Replica:
    """A model, and a server of it at this machine's loopback."""

    def __init__(self, model: Any, engine: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        import octavo
        self._llm = octavo.LLM(model, **engine)
        self._server = octavo.serve(self._llm, **options)
        self._session: Any = None

    async def _client(self) -> Any:
        import aiohttp
        if self._session is None:
            self._session = aiohttp.ClientSession(self._server.url, timeout=aiohttp.ClientTimeout(total=None),
                                                  connector=aiohttp.TCPConnector(limit=0), auto_decompress=False)
        return self._session

    async def check_health(self) -> None:
        async with (await self._client()).get("/ready") as answer:
            if answer.status != 200:
                raise RuntimeError(f"/ready: status {answer.status}")

    async def forward(self, method: str, path: str, headers: Dict[str, str], body: bytes,
                      names: List[str]) -> AsyncIterator[Any]:  # pylint: disable=unused-argument
        """The status and the headers, then the pieces of the body. names: for the router."""
        async with (await self._client()).request(method, path, headers=headers, data=body) as answer:
            yield answer.status, {name: value for name, value in answer.headers.items() if name.lower() not in _OF_A_HOP}
            async for piece in answer.content.iter_any():
                yield piece


class Front:
    """Takes requests over HTTP and leaves each to a replica."""

    def __init__(self, replicas: Any) -> None:
        self._replicas = replicas.options(stream=True)

    async def _answer(self, *asked: Any, names: List[str]) -> Tuple[Any, int, Dict[str, str]]:
        """The pieces of an answer, and what comes before them. A replica that goes before it answers has another one take
        its place. Raises RayActorError."""
        for attempt in range(_ATTEMPTS):
            pieces = self._replicas.forward.remote(*asked, names=names)
            try:
                return (pieces, *await pieces.__anext__())
            except RayActorError:
                if attempt + 1 == _ATTEMPTS:
                    raise
        raise AssertionError

    async def __call__(self, request: Any) -> Any:
        from starlette.responses import JSONResponse, StreamingResponse
        body = await request.body()
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        headers = {name: value for name, value in request.headers.items() if name not in _OF_A_HOP}
        try:
            pieces, status, told = await self._answer(request.method, path, headers, body,
                                                      names=beginnings(body, request.headers.get("x-session-id")))
        except RayActorError:
            return JSONResponse({"error": {"message": "the replicas that had this request have gone", "param": None,
                                           "type": "server_error", "code": "replica_lost"}}, 503)

        async def rest() -> AsyncIterator[bytes]:
            try:
                async for piece in pieces:
                    yield piece
            finally:
                pieces.cancel()  # where the client has gone

        return StreamingResponse(rest(), status_code=status, headers=told)


def app(model: Any, replicas: Union[int, Tuple[int, int]] = 1, *, cpus: float = 4, waiting: int = 8, most_ahead: int = 8,
        drain_timeout: float = 30, autoscaling: Optional[Mapping[str, Any]] = None, engine: Optional[Mapping[str, Any]] = None,
        **options: Any) -> Any:
    """An application for ray.serve.run(), which answers as `octavo serve` does.

    model: what octavo.LLM takes; a file must be there on every machine. replicas: how many, or the least and the most of
    them, between which Ray scales so that each has about `waiting` requests at a time that run or wait. cpus: those that
    Ray keeps for each, which has as many threads. most_ahead: a replica with so many requests more than another gets no
    further one for what it has cached. drain_timeout: seconds that a replica which Ray ends has for the answers that it
    has begun. autoscaling: further settings of Ray's, such as downscale_delay_s. engine: options
    of octavo.LLM. options: those of `octavo serve`, by their names with underscores. Raises ValueError.
    """
    least, most = (replicas, replicas) if isinstance(replicas, int) else replicas
    if not 1 <= least <= most:
        raise ValueError(f"replicas: found {replicas!r}, expected at least one, or the least and the most of them")
    settings: Dict[str, Any] = {"num_replicas": least}
    if least < most or autoscaling:
        settings = {"autoscaling_config": {"min_replicas": least, "max_replicas": most, "target_ongoing_requests": waiting,
                                           **(autoscaling or {})}}
    router = RequestRouterConfig(request_router_class=PrefixRouter, request_router_kwargs={"most_ahead": most_ahead})
    # A replica takes what comes: it orders and bounds what waits by itself.
    many = serve.deployment(Replica, name="Replica").options(
        ray_actor_options={"num_cpus": cpus}, max_ongoing_requests=1000, graceful_shutdown_timeout_s=drain_timeout,
        request_router_config=router, **settings)
    made = many.bind(model, {"threads": max(1, int(cpus)), **(engine or {})}, options)
    return serve.deployment(Front, name="Front").options(ray_actor_options={"num_cpus": 0},
                                                         max_ongoing_requests=10_000).bind(made)


def build(args: Dict[str, str]) -> Any:
    """app() for `serve run octavo.ray:build NAME=VALUE ...`. replicas: "2" or "1-4"; names of `octavo serve` else."""
    given: Dict[str, Any] = dict(args)
    if "replicas" in given:
        least, _, most = str(given["replicas"]).partition("-")
        given["replicas"] = (int(least), int(most)) if most else int(least)
    for name, kind in (("cpus", float), ("waiting", int), ("most_ahead", int), ("drain_timeout", float)):
        if name in given:
            given[name] = kind(given[name])
    return app(given.pop("model", None), **given)

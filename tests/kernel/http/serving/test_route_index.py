"""A request reaches the routes with its path prefix, and every route of Baton is found this way."""

import pytest
from fastapi import APIRouter, FastAPI
from starlette.testclient import TestClient

from baton.kernel.http.serving.hot_routes import RouteIndex
from baton.main import ROUTERS
from tests.support.cases import every


def app_of(*routers):
    app = FastAPI()
    for router in routers:
        app.include_router(router)
    app.router.middleware_stack = RouteIndex(routers, app.router.app)
    return TestClient(app, follow_redirects=False)


def router_of(*paths, method="GET"):
    router = APIRouter()
    for path in paths:
        router.add_api_route(path, lambda path=path: path, methods=[method], name=f"{method} {path}")
    return router


@every(
    ("method", "path", "status", "answered_by"),
    [
        ("GET", "/jobs", 200, "/jobs"),
        ("GET", "/jobs/7", 200, "/jobs/{job_id}"),
        ("POST", "/jobs", 200, "/jobs"),
        ("GET", "/jobs/7/diff", 404, None),
        ("PUT", "/jobs", 405, None),
        ("GET", "/jobs/", 307, None),
        ("GET", "/", 200, "/"),
        ("GET", "/job", 404, None),
        ("GET", "//jobs", 404, None),
    ],
)
def test_a_request_reaches_its_route_in_any_router(method, path, status, answered_by):
    client = app_of(
        router_of("/jobs/{job_id}", "/"), router_of("/graphs"), router_of("/jobs"), router_of("/jobs", method="POST")
    )
    response = client.request(method, f"http://testserver{path}")
    assert (response.status_code, response.json() if status == 200 else None) == (status, answered_by)


def test_a_path_that_begins_with_a_parameter_is_refused():
    with pytest.raises(ValueError, match="cannot be found by the first part"):
        RouteIndex([router_of("/{anything}/jobs")], None)


def test_every_route_of_baton_can_be_found():
    RouteIndex(ROUTERS, None)

"""All paths of delegation in one router. It serves none itself."""

from fastapi import APIRouter

from baton.delegate.jobs import api as jobs
from baton.delegate.jobs import costs_api, stream_api, submit_api
from baton.delegate.runners import api as runners
from baton.delegate.runners import permissions_api

router = APIRouter()
for module in (submit_api, jobs, stream_api, permissions_api, runners, costs_api):
    router.include_router(module.router)

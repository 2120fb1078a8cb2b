"""All paths of delegation in one router. It serves none itself."""

from fastapi import APIRouter

from app.api import delegate, job_analytics, job_permissions, job_stream, jobs, runners

router = APIRouter()
for module in (delegate, jobs, job_stream, job_permissions, runners, job_analytics):
    router.include_router(module.router)

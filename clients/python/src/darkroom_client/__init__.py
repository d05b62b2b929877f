"""The client of Darkroom, a gateway that generates and edits images."""

from ._async import AsyncDarkroom, AsyncPicture
from ._core.calls import Try
from ._core.errors import DarkroomError
from ._core.settings import VERSION as __version__
from ._core.signature import WebhookEvent
from ._core.sources import SourceImage
from ._sync import Darkroom, Picture
from ._core.tasks import AcceptedTask, TaskProgress, TaskRecord

__all__ = [
    "AcceptedTask",
    "AsyncDarkroom",
    "AsyncPicture",
    "Darkroom",
    "DarkroomError",
    "Picture",
    "SourceImage",
    "TaskProgress",
    "TaskRecord",
    "Try",
    "WebhookEvent",
    "__version__",
]

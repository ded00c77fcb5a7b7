from .inner.net import Main

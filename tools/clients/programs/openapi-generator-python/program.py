import os
import uuid

from urllib3 import Retry

from openapi_client import ApiClient, ApiException, CategoriesApi, Configuration, Error
from openapi_client import NewCategory, NewMessage, QuickstartApi



class Retries(Retry):
    RETRY_AFTER_STATUS_CODES = frozenset({409, 429, 503})


base_url = os.environ["BASE_URL"]
retries = Retries(7, allowed_methods=None, status_forcelist=[408, 500, 502, 504], backoff_factor=0.1)
client = ApiClient(Configuration(host=base_url, access_token=os.environ["API_KEY"], retries=retries))
categories = CategoriesApi(client)

rabbit = NewCategory(name="Rabbit", description="Long ears")
created = categories.create_category(rabbit, idempotency_key=str(uuid.uuid4()))
print("created", created.id, created.name)

for category in categories.list_categories():
    print("listed", category.id, category.name)

hello = NewMessage(message="Hello")
message = QuickstartApi(client).create_message(hello, idempotency_key=str(uuid.uuid4()))
print(message.status, message.message)

try:
    # Constructed without pydantic's validation, which would reject it before the service does.
    categories.create_category(NewCategory.model_construct(name=""))
except ApiException as rejected:
    if isinstance(rejected.data, Error):
        print("rejected", rejected.data.status, rejected.data.code)

try:
    CategoriesApi(ApiClient(Configuration(host=base_url))).list_categories()
except ApiException as unknown:
    if isinstance(unknown.data, Error):
        print("rejected", unknown.data.status, unknown.data.code)

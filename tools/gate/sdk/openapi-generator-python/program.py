import os

from pet_categories import ApiClient, ApiException, CategoriesApi, Configuration, Error
from pet_categories import NewCategory, NewMessage, QuickstartApi

base_url = os.environ["BASE_URL"]
client = ApiClient(Configuration(host=base_url, access_token=os.environ["API_KEY"]))
categories = CategoriesApi(client)

created = categories.create_category(NewCategory(name="Rabbit", description="Long ears"))
print("created", created.id, created.name)

for category in categories.list_categories():
    print("listed", category.id, category.name)

message = QuickstartApi(client).create_message(NewMessage(message="Hello"))
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

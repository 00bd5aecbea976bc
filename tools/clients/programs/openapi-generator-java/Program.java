import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.CategoriesApi;
import org.openapitools.client.api.QuickstartApi;
import org.openapitools.client.model.Category;
import org.openapitools.client.model.Error;
import org.openapitools.client.model.Message;
import org.openapitools.client.model.NewCategory;
import org.openapitools.client.model.NewMessage;

final class Program {
  static ApiClient newClient() {
    ApiClient client = new ApiClient().setBasePath(System.getenv("BASE_URL"));
    return client.setHttpClient(client.getHttpClient().newBuilder().addInterceptor(new Retry()).build());
  }

  static void printError(ApiException rejected) throws Exception {
    Error error = Error.fromJson(rejected.getResponseBody());
    System.out.println("rejected " + error.getStatus() + " " + error.getCode());
  }

  public static void main(String[] arguments) throws Exception {
    ApiClient client = newClient();
    client.setBearerToken(System.getenv("API_KEY"));
    CategoriesApi categories = new CategoriesApi(client);

    NewCategory rabbit = new NewCategory().name("Rabbit").description("Long ears");
    Category created = categories.createCategory(rabbit, null);
    System.out.println("created " + created.getId() + " " + created.getName());

    for (Category category : categories.listCategories(null)) {
      System.out.println("listed " + category.getId() + " " + category.getName());
    }

    Message message = new QuickstartApi(client).createMessage(new NewMessage().message("Hello"), null);
    System.out.println(message.getStatus() + " " + message.getMessage());

    try {
      categories.createCategory(new NewCategory().name(""), null);
    } catch (ApiException rejected) {
      printError(rejected);
    }

    try {
      new CategoriesApi(newClient()).listCategories(null);
    } catch (ApiException rejected) {
      printError(rejected);
    }
  }
}

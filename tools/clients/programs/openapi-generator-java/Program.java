import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.CategoriesApi;
import org.openapitools.client.model.Category;
import org.openapitools.client.model.Error;
import org.openapitools.client.model.NewCategory;

final class Program {
  public static void main(String[] arguments) throws Exception {
    ApiClient client = new ApiClient().setBasePath(System.getenv("BASE_URL"));
    client.setHttpClient(client.getHttpClient().newBuilder().addInterceptor(new Retry()).build());
    client.setBearerToken(System.getenv("API_KEY"));
    CategoriesApi categories = new CategoriesApi(client);

    NewCategory rabbit = new NewCategory().name("Rabbit").description("Long ears");
    Category created = categories.createCategory(rabbit, null);
    System.out.println("created " + created.getId() + " " + created.getName());

    for (Category category : categories.listCategories(null)) {
      System.out.println("listed " + category.getId() + " " + category.getName());
    }

    try {
      categories.createCategory(new NewCategory().name(""), null);
    } catch (ApiException rejected) {
      Error error = Error.fromJson(rejected.getResponseBody());
      System.out.println("rejected " + error.getStatus() + " " + error.getCode());
    }
  }
}

import java.util.List;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.CategoriesApi;
import org.openapitools.client.api.PetsApi;
import org.openapitools.client.model.Category;
import org.openapitools.client.model.Error;
import org.openapitools.client.model.NewCategory;
import org.openapitools.client.model.NewPet;
import org.openapitools.client.model.Pet;

final class Program {
  public static void main(String[] arguments) throws Exception {
    ApiClient client = new ApiClient().setBasePath(System.getenv("BASE_URL"));
    client.setHttpClient(client.getHttpClient().newBuilder().addInterceptor(new Retry()).build());
    client.setBearerToken(System.getenv("API_KEY"));
    CategoriesApi categories = new CategoriesApi(client);
    PetsApi pets = new PetsApi(client);

    NewCategory rabbit = new NewCategory().name("Rabbit").description("Long ears");
    Category created = categories.createCategory(rabbit, null);
    System.out.println("created " + created.getId() + " " + created.getName());

    Pet pet = pets.createPet(new NewPet().name("Bella").categoryId(created.getId()), null);
    System.out.println("created " + pet.getId() + " " + pet.getName());

    long after = 0;
    List<Pet> page;
    do {
      page = pets.listPets(2, after, null);
      for (Pet listed : page) {
        System.out.println("listed " + listed.getName());
        after = listed.getId();
      }
    } while (!page.isEmpty());

    try {
      categories.createCategory(new NewCategory().name(""), null);
    } catch (ApiException rejected) {
      Error error = Error.fromJson(rejected.getResponseBody());
      System.out.println("rejected " + error.getStatus() + " " + error.getCode());
    }
  }
}

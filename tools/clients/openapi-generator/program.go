package main

import (
	"context"
	"fmt"
	"log"
	"os"

	petshop "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func main() {
	configuration := petshop.NewConfiguration()
	configuration.Servers[0].URL = os.Getenv("BASE_URL")
	api := petshop.NewAPIClient(configuration).CategoriesAPI
	category := *petshop.NewCategoryInput("Rabbit")
	created, _, err := api.CreateCategory(context.Background()).CategoryInput(category).Execute()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("created", created.Id)
}

package main

import (
	"context"
	"fmt"
	"log"
	"os"

	petshop "github.com/example/petshop"
)

func main() {
	ctx := context.WithValue(context.Background(), petshop.ContextAccessToken, os.Getenv("API_KEY"))
	configuration := petshop.NewConfiguration()
	configuration.Servers = petshop.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}

	page, _, err := petshop.NewAPIClient(configuration).PetsAPI.ListPets(ctx).Execute()
	if err != nil {
		log.Fatal(err)
	}
	for _, pet := range page {
		fmt.Println("listed", pet.Name)
	}
}

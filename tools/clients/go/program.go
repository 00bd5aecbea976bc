package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"petshop/client"
)

func withAPIKey(_ context.Context, request *http.Request) error {
	request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
	return nil
}

func main() {
	api, err := client.NewClientWithResponses(os.Getenv("BASE_URL"), client.WithRequestEditorFn(withAPIKey))
	if err != nil {
		log.Fatal(err)
	}
	page, err := api.ListPetsWithResponse(context.Background(), &client.ListPetsParams{})
	if err != nil {
		log.Fatal(err)
	}
	if page.JSON200 == nil {
		log.Fatal(page.Status())
	}
	for _, pet := range *page.JSON200 {
		fmt.Println("listed", pet.Name)
	}
}

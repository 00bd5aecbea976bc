package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"

	client "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func printError(err error) {
	var rejected *client.GenericOpenAPIError
	if !errors.As(err, &rejected) {
		log.Fatal(err)
	}
	if body, ok := rejected.Model().(client.Error); ok {
		fmt.Println("rejected", body.Status, body.Code)
	}
}

func main() {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	configuration.HTTPClient = &http.Client{Transport: Retrying{}}
	api := client.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), client.ContextAccessToken, os.Getenv("API_KEY"))

	rabbit := client.NewCategoryToCreate("Rabbit")
	rabbit.SetDescription("Long ears")
	created, _, err := api.CategoriesAPI.CreateCategory(ctx).CategoryToCreate(*rabbit).Execute()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("created", created.Id, created.Name)

	list, _, err := api.CategoriesAPI.ListCategories(ctx).Execute()
	if err != nil {
		log.Fatal(err)
	}
	for _, category := range list {
		fmt.Println("listed", category.Id, category.Name)
	}

	hello := client.NewMessageToSend("Hello")
	message, _, err := api.QuickstartAPI.CreateMessage(ctx).MessageToSend(*hello).Execute()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(message.Status, message.Message)

	nameless := client.NewCategoryToCreate("")
	_, _, err = api.CategoriesAPI.CreateCategory(ctx).CategoryToCreate(*nameless).Execute()
	printError(err)

	_, _, err = api.CategoriesAPI.ListCategories(context.Background()).Execute()
	printError(err)
}

package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"categories/client"
)

func withKey(_ context.Context, request *http.Request) error {
	request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
	return nil
}

func main() {
	ctx := context.Background()
	retrying := client.WithHTTPClient(&http.Client{Transport: Retrying{}})
	api, err := client.NewClientWithResponses(os.Getenv("BASE_URL"), client.WithRequestEditorFn(withKey), retrying)
	if err != nil {
		log.Fatal(err)
	}

	description := "Long ears"
	created, err := api.CreateCategoryWithResponse(ctx, nil, client.NewCategory{Name: "Rabbit", Description: &description})
	if err != nil {
		log.Fatal(err)
	}
	if created.JSON201 == nil {
		log.Fatal(created.Status())
	}
	fmt.Println("created", created.JSON201.Id, created.JSON201.Name)

	list, err := api.ListCategoriesWithResponse(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	if list.JSON200 != nil {
		for _, category := range *list.JSON200 {
			fmt.Println("listed", category.Id, category.Name)
		}
	}

	rejected, err := api.CreateCategoryWithResponse(ctx, nil, client.NewCategory{Name: ""})
	if err != nil {
		log.Fatal(err)
	}
	if rejected.JSON400 != nil {
		fmt.Println("rejected", rejected.JSON400.Status, rejected.JSON400.Code)
	}
}

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

// must ends the program if there is no response.
func must[T any](response T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return response
}

func main() {
	ctx := context.Background()
	retrying := client.WithHTTPClient(&http.Client{Transport: Retrying{}})
	api := must(client.NewClientWithResponses(os.Getenv("BASE_URL"), client.WithRequestEditorFn(withKey), retrying))

	created := must(api.CreatePetWithResponse(ctx, nil, client.NewPet{Name: "Bella", CategoryId: 1}))
	if created.JSON201 == nil {
		log.Fatal(created.Status())
	}
	fmt.Println("created", created.JSON201.Id, created.JSON201.Name)

	limit, after := int32(2), int64(0)
	for isLast := false; !isLast; {
		page := must(api.ListPetsWithResponse(ctx, &client.ListPetsParams{Limit: &limit, After: &after}))
		if page.JSON200 == nil {
			log.Fatal(page.Status())
		}
		for _, pet := range *page.JSON200 {
			fmt.Println("listed", pet.Name)
			after = pet.Id
		}
		isLast = len(*page.JSON200) < int(limit)
	}
}

package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"petshop/client"
)

func main() {
	api, err := client.NewClientWithResponses(os.Getenv("BASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	category := client.NewCategory{Name: "Rabbit"}
	response, err := api.CreateCategoryWithResponse(context.Background(), nil, category)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("created", response.JSON201.Id)
}

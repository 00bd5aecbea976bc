package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"time"
)

var (
	client   = http.Client{Timeout: 45 * time.Second}
	nextLink = regexp.MustCompile(`<([^>]*)>; rel="next"`)
)

func main() {
	page, err := url.Parse("https://api.petstore.example/v1/store/orders")
	for page != nil && err == nil {
		page, err = printPage(page)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// Prints a page. Returns the URL of the next one, or nil.
func printPage(page *url.URL) (*url.URL, error) {
	request, err := http.NewRequest(http.MethodGet, page.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))

	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()

	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s", body)
	}
	fmt.Println(string(body))

	link := nextLink.FindStringSubmatch(response.Header.Get("Link"))
	if link == nil {
		return nil, nil
	}
	return page.Parse(link[1])
}

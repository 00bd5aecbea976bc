package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestPauseEndsWithItsRequest(t *testing.T) {
	busy := func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set("Retry-After", "3600")
		response.WriteHeader(503)
	}
	server := httptest.NewServer(http.HandlerFunc(busy))
	defer server.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Second/2)
	defer cancel()
	request, _ := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
	if _, err := (Retrying{}).RoundTrip(request); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Retrying sends a request up to 8 times, until the response is final. A POST
// gets an Idempotency-Key, the same for each attempt, so that it creates only
// once.
type Retrying struct{}

func (Retrying) RoundTrip(original *http.Request) (*http.Response, error) {
	request := original.Clone(original.Context())
	if request.Method == "POST" && request.Header.Get("Idempotency-Key") == "" {
		request.Header.Set("Idempotency-Key", rand.Text())
	}
	var content []byte
	if original.Body != nil {
		content, _ = io.ReadAll(original.Body)
		original.Body.Close()
	}
	for attempt := 1; ; attempt++ {
		if original.Body != nil {
			request.Body = io.NopCloser(bytes.NewReader(content))
		}
		wait := 100 * time.Millisecond << attempt
		response, err := http.DefaultTransport.RoundTrip(request)
		if err == nil {
			// Fails if the connection closes before the end of the body.
			body, broken := io.ReadAll(response.Body)
			response.Body.Close()
			response.Body = io.NopCloser(bytes.NewReader(body))
			status, retryAfter := response.StatusCode, response.Header.Get("Retry-After")
			isFinal := retryAfter == "" && !slices.Contains([]int{408, 429, 500, 502, 503, 504}, status)
			if broken == nil && (isFinal || attempt == 8) {
				return response, nil
			}
			seconds, _ := strconv.Atoi(retryAfter)
			wait, err = max(wait, time.Duration(seconds)*time.Second), broken
		}
		if attempt == 8 {
			return nil, err
		}
		cancelled := request.Context()
		select {
		case <-time.After(wait + mathrand.N(wait/2)):
		case <-cancelled.Done():
		}
		if cancelled.Err() != nil {
			return nil, errors.Join(err, cancelled.Err())
		}
	}
}

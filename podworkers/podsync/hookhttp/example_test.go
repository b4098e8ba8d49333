package hookhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/podkeel/podkeel/podworkers/podsync/hookhttp"
)

// A Getter goes into podsync.Config.HTTP, and makes the requests of hooks.
func ExampleNew() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL, r.UserAgent())
		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()
	getter := hookhttp.New(hookhttp.Config{})
	fmt.Println(getter.Get(context.Background(), server.URL+"/bye", nil))
	// Output:
	// GET /bye kube-lifecycle/podkeel
	// <nil>
}

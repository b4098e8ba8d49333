package review_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/internal/review"
)

// A Reviewer asks the API server who a client is and what the client may do.
func ExampleNew() {
	server := apiservertest.New(apiservertest.Config{})
	r, err := review.New(review.Config{Reviews: server.Client("node-1").Reviews()})
	if err != nil {
		fmt.Println(err)
		return
	}
	request := httptest.NewRequest("GET", "/pods", nil)
	request.Header.Set("Authorization", "Bearer guess")
	user, ok, err := r.Authenticate(request)
	fmt.Printf("%q %v %v\n", user.Username, ok, err)
	for _, group := range []string{"system:authenticated", "system:masters"} {
		allowed, _, err := r.Authorize(context.Background(), authenticationv1.UserInfo{Username: "alice", Groups: []string{group}},
			authorizationv1.ResourceAttributes{Verb: "get", Version: "v1", Resource: "nodes", Subresource: "pods", Name: "node-1"})
		fmt.Println(allowed, err)
	}
	// Output:
	// "" false <nil>
	// false <nil>
	// true <nil>
}

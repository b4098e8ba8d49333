package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/server"
)

// password authenticates one user by a password and allows every request.
type password string

func (p password) Authenticate(r *http.Request) (user authenticationv1.UserInfo, ok bool, err error) {
	user.Username, ok = "admin", r.Header.Get("Authorization") == "Bearer "+string(p)
	return user, ok, nil
}

func (password) Authorize(context.Context, authenticationv1.UserInfo, authorizationv1.ResourceAttributes) (bool, string, error) {
	return true, "", nil
}

// A node answers what kubectl asks. In a cluster package review decides who may ask.
func ExampleNew() {
	n, err := node.New(node.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	handler, err := server.New(server.Config{
		NodeName: "node-1", Pods: n.Pods, Health: func() error { return n.Health().Err }, Finder: n.Containers(),
		Logs: n.Containers(), Exec: n.Containers(), Attach: n.Containers(), PortForward: n.Containers(),
		Authenticator: password("secret"), Authorizer: password(""),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, token := range []string{"guess", "secret"} {
		request := httptest.NewRequest("GET", "/containerLogs/default/web/main?follow=true", nil)
		request.Header.Set("Authorization", "Bearer "+token)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		fmt.Print(answer.Code, " ", answer.Body)
	}
	// Output:
	// 401 Unauthorized
	// 404 pod web is not on this node
}

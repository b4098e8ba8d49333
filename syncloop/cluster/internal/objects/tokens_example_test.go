package objects_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/internal/objects"
)

// A token stays the same until it is to be replaced.
func ExampleNewTokens() {
	server := apiservertest.New(apiservertest.Config{})
	_, err := server.Admin().Create(context.Background(), &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default"}})
	if err != nil {
		fmt.Println(err)
	}
	pod, err := server.Admin().CreatePod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       v1.PodSpec{NodeName: "node-1", Containers: []v1.Container{{Name: "c", Image: "web:1"}}},
	})
	if err != nil {
		fmt.Println(err)
	}
	source, err := objects.NewTokens(objects.TokensConfig{Tokens: server.Client("node-1").Tokens()})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := source.Token(context.Background(), pod, "", 3607)
	fmt.Println(a != "", err)
	b, err := source.Token(context.Background(), pod, "", 3607)
	fmt.Println(a == b, err)
	// Output:
	// true <nil>
	// true <nil>
}

package apiservertest_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
)

func newHarness(t *testing.T) apiservertest.Harness {
	server := apiservertest.New(apiservertest.Config{})
	_, err := server.Admin().Create(context.Background(), &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default"}})
	require.NoError(t, err)
	return apiservertest.Harness{
		Server: server.Client("n1"), Node: "n1", Admin: server.Admin(),
		Compact: func() error { server.Compact(); return nil },
	}
}

func TestServer_Conformance(t *testing.T) {
	for _, c := range apiservertest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.Run(t, newHarness(t)) })
		})
	}
}

func TestCases_Names(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range apiservertest.Cases() {
		assert.False(t, seen[c.Name], c.Name)
		assert.True(t, strings.HasSuffix(c.Promise, "."), c.Name)
		seen[c.Name] = true
	}
}

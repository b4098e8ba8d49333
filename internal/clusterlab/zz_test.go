package clusterlab_test

import (
	"context"
	"testing"

	"github.com/podkeel/podkeel/internal/clusterlab"
)

func TestZZ(t *testing.T) {
	_, err := clusterlab.Build(context.Background(), "etcd", "kube-apiserver", "kubectl", "kube-scheduler", "kube-controller-manager", "kubelet", "kubemark", "kube-proxy")
	if err != nil {
		t.Fatal(err)
	}
}

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestResolvePodName: users omit the namespace, the name of the node and the end of a name.
func TestResolvePodName(t *testing.T) {
	pods := []podName{
		{"default", "web-n1", "web"}, {"default", "web-2-n1", "web-2"}, {"default", "crash-looper-n1", "crash-looper"},
		{"kube-system", "etcd-n1", "etcd"}, {"kube-system", "web-n1", "web"}, {"a", "etcd-backup-n1", "etcd-backup"}, {"b", "job", "job"},
		{"default", "api", "api"}, {"default", "api-n1", "api"}, {"kube-system", "etcd-n1", "etcd"},
	}
	for word, want := range map[string]string{
		"web-n1":             "default/web-n1",
		"web":                "default/web-n1",
		"web-2":              "default/web-2-n1",
		"kube-system/web":    "kube-system/web-n1",
		"kube-system/web-n1": "kube-system/web-n1",
		"etcd":               "kube-system/etcd-n1",
		"etcd-b":             "a/etcd-backup-n1",
		"cra":                "default/crash-looper-n1",
		"default/cra":        "default/crash-looper-n1",
		"job":                "b/job",
		"default/job":        "default/job",
		"nothing":            "default/nothing",
		"api":                "default/api",
		"":                   "default/",
		"we":                 `"we" could be any of default/web-2-n1, default/web-n1, kube-system/web-n1`,
		"kube-system/":       "kube-system/",
	} {
		got, err := resolvePodName(word, pods)
		text := got.String()
		if err != nil {
			text = err.Error()
		}
		assert.Equal(t, want, text, word)
	}
	many := make([]podName, 9)
	_, err := resolvePodName("p", append(many, podName{"default", "p1", "p1"}, podName{"default", "p2", "p2"}))
	assert.EqualError(t, err, `"p" could be any of default/p1, default/p2`)
	for i := range many {
		many[i] = podName{"default", "p" + string(rune('a'+i)), ""}
	}
	_, err = resolvePodName("p", many)
	assert.EqualError(t, err, `"p" could be any of default/pa, default/pb, default/pc, default/pd, default/pe, and 4 more`)
}

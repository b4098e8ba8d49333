package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// podName identifies a pod of an agent. short is the name without the suffix of the node, which static pods have.
type podName struct{ namespace, name, short string }

// String formats the name as namespace/name.
func (p podName) String() string { return p.namespace + "/" + p.name }

// podNameOf returns the name of a pod, with a short form that lacks the suffix -NODE of a static pod.
func podNameOf(pod *v1.Pod) podName {
	short := pod.Name
	if node := pod.Spec.NodeName; node != "" {
		short = strings.TrimSuffix(pod.Name, "-"+node)
	}
	return podName{pod.Namespace, pod.Name, short}
}

// resolvePodName returns the pod that a text names: NAMESPACE/NAME or NAME, with or without the suffix -NODE,
// or a prefix of the name. The namespace default takes precedence over others, and a whole name over a prefix.
// If no pod matches, it returns the text as a name. It returns an error if several pods match.
func resolvePodName(text string, pods []podName) (podName, error) {
	namespace, name, both := strings.Cut(text, "/")
	if !both {
		namespace, name = "", text
	}
	in := func(p podName) bool { return !both || p.namespace == namespace }
	usual := func(p podName) bool { return both || p.namespace == v1.NamespaceDefault }
	for _, fits := range []func(podName) bool{
		func(p podName) bool { return usual(p) && in(p) && p.name == name },
		func(p podName) bool { return usual(p) && in(p) && p.short == name },
		func(p podName) bool { return in(p) && (p.name == name || p.short == name) },
		func(p podName) bool { return in(p) && name != "" && strings.HasPrefix(p.name, name) },
	} {
		found := slices.DeleteFunc(slices.Clone(pods), func(p podName) bool { return !fits(p) })
		slices.SortStableFunc(found, func(a, b podName) int { return cmp.Compare(a.String(), b.String()) })
		found = slices.Compact(found) // Two pods may have one name while the first terminates, or if the second was rejected.
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		return podName{}, ambiguousNameError(text, found)
	}
	if !both {
		namespace = v1.NamespaceDefault
	}
	return podName{namespace: namespace, name: name}, nil
}

// ambiguousNameError returns an error that lists the pods which a text may mean, at most five of them.
func ambiguousNameError(text string, found []podName) error {
	const most = 5
	var names []string
	for _, p := range found[:min(len(found), most)] {
		names = append(names, p.String())
	}
	if more := len(found) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%q could be any of %s", text, strings.Join(names, ", "))
}

// resolvePodPath returns the URL path for an endpoint, the pod that the first argument names, and the container if the
// request names one. It lists the agent's pods to complete the name. If that fails, it uses the name as
// written.
func (r *request) resolvePodPath(ctx context.Context, endpointName string) ([]string, error) {
	var pods []podName
	if err := r.forEachPod(ctx, func(pod *v1.Pod) { pods = append(pods, podNameOf(pod)) }); err != nil {
		pods = nil
	}
	pod, err := resolvePodName(r.args[0], pods)
	path := []string{endpointName, url.PathEscape(pod.namespace), url.PathEscape(pod.name)}
	if r.container != "" {
		path = append(path, url.PathEscape(r.container))
	}
	return path, err
}

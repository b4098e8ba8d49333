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

// podName is what tells one pod of an agent from another. short is its name without that of
// the node, which static pods end in.
type podName struct{ namespace, name, short string }

// String is the name as people write it.
func (p podName) String() string { return p.namespace + "/" + p.name }

// nameOf is the name of a pod.
func nameOf(pod *v1.Pod) podName {
	short := pod.Name
	if node := pod.Spec.NodeName; node != "" {
		short = strings.TrimSuffix(pod.Name, "-"+node)
	}
	return podName{pod.Namespace, pod.Name, short}
}

// meant is the pod that a word names: NAMESPACE/NAME or NAME, with or without the name of the
// node, or the beginning of a name that no other pod has. A name in the namespace default goes
// before those in others, and a whole name before a beginning. If no pod is named so, the word
// is taken as it is written; if several are, that is an error.
func meant(word string, pods []podName) (podName, error) {
	namespace, name, both := strings.Cut(word, "/")
	if !both {
		namespace, name = "", word
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
		found = slices.Compact(found) // Of two of one name one was refused for that, or still ends.
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		return podName{}, several(word, found)
	}
	if !both {
		namespace = v1.NamespaceDefault
	}
	return podName{namespace: namespace, name: name}, nil
}

// several names the pods that a word could mean, not all if they are many.
func several(word string, found []podName) error {
	const most = 5
	var names []string
	for _, p := range found[:min(len(found), most)] {
		names = append(names, p.String())
	}
	if more := len(found) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%q could be any of %s", word, strings.Join(names, ", "))
}

// path is where the agent answers for the pod that the request names, and for the container
// if it names one. The agent itself says what is wrong if there is no list of pods.
func (r *request) path(ctx context.Context, of string) ([]string, error) {
	var pods []podName
	if err := r.pods(ctx, func(pod *v1.Pod) { pods = append(pods, nameOf(pod)) }); err != nil {
		pods = nil
	}
	pod, err := meant(r.words[0], pods)
	path := []string{of, url.PathEscape(pod.namespace), url.PathEscape(pod.name)}
	if r.container != "" {
		path = append(path, url.PathEscape(r.container))
	}
	return path, err
}

package apiservertest

import (
	"context"
	"errors"
	"io"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
)

var watchCases = []Case{
	{"list/pods", "List returns the pods of the node and no others, and a resource version.", listPods},
	{"list/versions", "List takes an empty resource version, 0, and any that was seen; one that is in the future is refused.", listVersions},
	{"watch/initial", "A stream with initial events shows each pod as added, then the bookmark, then changes.", watchInitial},
	{"watch/empty", "Without pods the initial events are the bookmark only.", watchEmpty},
	{"watch/from", "A stream from a version shows what came after it, in order.", watchFrom},
	{"watch/resume", "A stream goes on from the version of the last event without a loss.", watchResume},
	{"watch/own", "The pods of other nodes are not shown.", watchOwn},
	{"watch/timeout", "A stream ends with io.EOF after the timeout that its caller asks for.", watchTimeout},
	{"watch/context", "Next ends with its context.", watchContext},
	{"watch/expired", "A stream from a version whose history is lost is refused as expired, and a list heals it.", watchExpired},
	{"watch/node", "The feed of the node is empty before it is registered, and then shows its changes.", watchNode},
}

func listPods(b *bench) {
	l, err := b.h.Server.PodFeed().List(b.ctx, "")
	b.Must(err, "List")
	b.Check(len(l.Items) == 0 && isNewerVersion(l.ResourceVersion, "0"), "%d pods at version %q", len(l.Items), l.ResourceVersion)
	b.createPod("other", b.setNodeNameToOtherNode)
	own := b.createPod("own")
	l, err = b.h.Server.PodFeed().List(b.ctx, "")
	b.Must(err, "List")
	b.Check(len(l.Items) == 1 && l.Items[0].UID == own.UID && l.Items[0].ResourceVersion == own.ResourceVersion, "there are %d pods", len(l.Items))
	b.Check(!isNewerVersion(own.ResourceVersion, l.ResourceVersion), "the list is of version %s, the pod of %s", l.ResourceVersion, own.ResourceVersion)
}

func listVersions(b *bench) {
	pod := b.createPod("a")
	for _, version := range []string{"", "0", pod.ResourceVersion} {
		l, err := b.h.Server.PodFeed().List(b.ctx, version)
		b.Must(err, "List from version "+version)
		b.Check(version == "0" || len(l.Items) == 1, "the list of version %q has %d pods", version, len(l.Items))
	}
	_, err := b.h.Server.PodFeed().List(b.ctx, pod.ResourceVersion+"000")
	b.requireReason(err, "a list of the future", metav1.StatusReasonTimeout)
}

func watchInitial(b *bench) {
	b.createPod("a")
	b.createPod("b")
	w := startWatch(b, b.h.Server.PodFeed(), apiserver.WatchOptions{SendInitialEvents: true})
	names := w.readInitialEvents()
	b.Check(len(names) == 2 && names[0] == b.objectName("a") && names[1] == b.objectName("b"), "the initial events are %q", names)
	b.createPod("c")
	w.requireEvents("ADDED " + b.objectName("c"))
}

func watchEmpty(b *bench) {
	w := startWatch(b, b.h.Server.PodFeed(), apiserver.WatchOptions{SendInitialEvents: true})
	names := w.readInitialEvents()
	b.Check(len(names) == 0 && isNewerVersion(w.last, "0"), "the initial events are %q, to version %q", names, w.last)
	b.createPod("a")
	w.requireEvents("ADDED " + b.objectName("a"))
}

func watchFrom(b *bench) {
	a := b.createPod("a")
	l, err := b.h.Server.PodFeed().List(b.ctx, "")
	b.Must(err, "List")
	b.createPod("b")
	after := b.mustPatchStatus(a, `{"phase":"Running"}`)
	w := startWatch(b, b.h.Server.PodFeed(), apiserver.WatchOptions{ResourceVersion: l.ResourceVersion})
	w.requireEvents("ADDED "+b.objectName("b"), "MODIFIED "+b.objectName("a"))
	b.Check(w.last == after.ResourceVersion, "the change is shown at version %s, its answer had %s", w.last, after.ResourceVersion)
	b.mustPatchStatus(a, `{"message":"more"}`)
	w.requireEvents("MODIFIED " + b.objectName("a"))
}

func watchResume(b *bench) {
	a := b.createPod("a")
	w := startWatch(b, b.h.Server.PodFeed(), apiserver.WatchOptions{SendInitialEvents: true})
	w.readInitialEvents()
	b.mustPatchStatus(a, `{"message":"1"}`)
	w.requireEvents("MODIFIED " + b.objectName("a"))
	w.closeStream()
	b.mustPatchStatus(a, `{"message":"2"}`)
	b.mustPatchStatus(a, `{"message":"3"}`)
	again := startWatch(b, b.h.Server.PodFeed(), apiserver.WatchOptions{ResourceVersion: w.last})
	for _, want := range []string{"2", "3"} {
		e := again.mustReadEventSkippingBookmarks()
		b.Check(e.Type == apiserver.Modified && e.Object.Status.Message == want, "%s %q comes where %q was due", e.Type, e.Object.Status.Message, want)
	}
}

func watchOwn(b *bench) {
	w := startWatch(b, b.h.Server.PodFeed(), apiserver.WatchOptions{SendInitialEvents: true})
	w.readInitialEvents()
	b.createPod("other", b.setNodeNameToOtherNode)
	b.createPod("own")
	w.requireEvents("ADDED " + b.objectName("own"))
}

func watchTimeout(b *bench) {
	w := startWatch(b, b.h.Server.PodFeed(), apiserver.WatchOptions{SendInitialEvents: true, Timeout: 2 * time.Second})
	began := b.executor.Now()
	err := w.mustReadUntilEnd()
	b.Check(errors.Is(err, io.EOF), "the stream ends with: %v", err)
	b.Check(b.executor.Now().Sub(began) >= time.Second, "it ends too early")
}

func watchContext(b *bench) {
	w := startWatch(b, b.h.Server.PodFeed(), apiserver.WatchOptions{SendInitialEvents: true})
	w.readInitialEvents()
	ctx, cancel := b.executor.WithDeadline(b.ctx, b.executor.Now().Add(time.Second))
	defer cancel()
	for {
		if _, err := w.stream.Next(ctx); err != nil {
			b.Check(errors.Is(err, context.DeadlineExceeded), "Next ends with: %v", err)
			return
		}
	}
}

func watchExpired(b *bench) {
	if b.h.Compact == nil {
		b.Skipf("the harness cannot have the server lose its history")
		return
	}
	a := b.createPod("a")
	b.mustPatchStatus(a, `{"message":"1"}`)
	b.Must(b.h.Compact(), "Compact")
	stream, err := b.h.Server.PodFeed().Watch(b.ctx, apiserver.WatchOptions{ResourceVersion: a.ResourceVersion})
	if err == nil {
		_, err = stream.Next(b.ctx)
		stream.Close()
	}
	b.requireReason(err, "a watch from a lost version", metav1.StatusReasonExpired)
	w := startWatch(b, b.h.Server.PodFeed(), apiserver.WatchOptions{SendInitialEvents: true})
	names := w.readInitialEvents()
	b.Check(len(names) == 1, "the initial events are %q", names)
	again := startWatch(b, b.h.Server.PodFeed(), apiserver.WatchOptions{ResourceVersion: w.last})
	b.mustPatchStatus(a, `{"message":"2"}`)
	again.requireEvents("MODIFIED " + b.objectName("a"))
}

func watchNode(b *bench) {
	w := startWatch(b, b.h.Server.NodeFeed(), apiserver.WatchOptions{SendInitialEvents: true})
	names := w.readInitialEvents()
	b.Check(len(names) == 0, "there is a node: %q", names)
	node := b.registerNode()
	w.requireEvents("ADDED " + b.h.Node)
	_, err := b.h.Server.Nodes().PatchStatus(b.ctx, b.h.Node, []byte(`{"status":{"capacity":{"cpu":"2"}}}`))
	b.Must(err, "PatchStatus")
	w.requireEvents("MODIFIED " + b.h.Node)
	b.Must(b.h.Admin.Delete(b.ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: b.h.Node, UID: node.UID}}, nil), "Delete")
	w.requireEvents("DELETED " + b.h.Node)
}

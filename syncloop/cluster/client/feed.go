package client

import (
	"context"
	"errors"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
)

// feed is a selection of one resource, of objects P in lists L.
type feed[T any, P object[T], L runtime.Object] struct {
	c                   *Client
	group               *rest.RESTClient
	resource, namespace string
	selected            fields.Selector
	items               func(L) []T
}

func (f feed[T, P, L]) request() *rest.Request {
	r := f.group.Get().NamespaceIfScoped(f.namespace, f.namespace != "").Resource(f.resource).MaxRetries(0)
	if !f.selected.Empty() {
		r.Param("fieldSelector", f.selected.String())
	}
	return r
}

// List implements apiserver.Feed.
func (f feed[T, P, L]) List(ctx context.Context, resourceVersion string) (apiserver.List[P], error) {
	r := f.request()
	if resourceVersion != "" {
		r.Param("resourceVersion", resourceVersion)
	}
	list, err := call[L](ctx, r)
	if err != nil {
		return apiserver.List[P]{}, err
	}
	described, err := meta.ListAccessor(list)
	if err != nil {
		return apiserver.List[P]{}, err
	}
	if described.GetResourceVersion() == "" || described.GetContinue() != "" { // What is not in it would be gone.
		return apiserver.List[P]{}, apierrors.NewInternalError(errors.New("the server answers with a list that is not complete"))
	}
	items := f.items(list)
	out := apiserver.List[P]{Items: make([]P, len(items)), ResourceVersion: described.GetResourceVersion()}
	for i := range items {
		out.Items[i] = P(&items[i])
	}
	return out, nil
}

// Watch implements apiserver.Feed.
func (f feed[T, P, L]) Watch(ctx context.Context, opts apiserver.WatchOptions) (apiserver.Stream[P], error) {
	r := f.request().SetHeader("Accept", protobuf+";stream=watch").
		Param("watch", "true").Param("allowWatchBookmarks", "true")
	if opts.ResourceVersion != "" {
		r.Param("resourceVersion", opts.ResourceVersion)
	}
	if opts.SendInitialEvents {
		r.Param("sendInitialEvents", "true").Param("resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan))
	}
	if opts.Timeout > 0 {
		r.Param("timeoutSeconds", strconv.Itoa(max(1, int(opts.Timeout/time.Second))))
	}
	// The stream outlives ctx, which bounds its beginning.
	open, cancel := context.WithCancel(context.WithoutCancel(ctx))
	began := context.AfterFunc(ctx, cancel)
	s := &stream[P]{pool: f.c.calls, over: f.c.calls.current.Load(), cancel: cancel}
	err := s.begin(open, r, runtime.NewClientNegotiator(f.c.decoding, f.group.APIVersion()))
	if !began() {
		err = ctx.Err()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

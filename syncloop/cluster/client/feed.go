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

// feed lists and watches one resource with a field selector. P is the object type and L the list type.
type feed[T any, P object[T], L runtime.Object] struct {
	c                   *Client
	group               *rest.RESTClient
	resource, namespace string
	selector            fields.Selector
	items               func(L) []T
}

// newRequest returns a GET request with the resource, namespace and field selector of the feed.
func (f feed[T, P, L]) newRequest() *rest.Request {
	r := f.group.Get().NamespaceIfScoped(f.namespace, f.namespace != "").Resource(f.resource).MaxRetries(0)
	if !f.selector.Empty() {
		r.Param("fieldSelector", f.selector.String())
	}
	return r
}

// List implements apiserver.Feed.
func (f feed[T, P, L]) List(ctx context.Context, resourceVersion string) (apiserver.List[P], error) {
	r := f.newRequest()
	if resourceVersion != "" {
		r.Param("resourceVersion", resourceVersion)
	}
	list, err := doRequest[L](ctx, r)
	if err != nil {
		return apiserver.List[P]{}, err
	}
	described, err := meta.ListAccessor(list)
	if err != nil {
		return apiserver.List[P]{}, err
	}
	if described.GetResourceVersion() == "" || described.GetContinue() != "" { // A missing object would count as deleted.
		return apiserver.List[P]{}, apierrors.NewInternalError(errors.New("the server responded with an incomplete list"))
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
	r := f.newRequest().SetHeader("Accept", protobufContentType+";stream=watch").
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
	// The stream outlives ctx. ctx only bounds the start.
	open, cancel := context.WithCancel(context.WithoutCancel(ctx))
	began := context.AfterFunc(ctx, cancel)
	s := &stream[P]{pool: f.c.calls, openedOn: f.c.calls.current.Load(), cancel: cancel}
	err := s.openWatch(open, r, runtime.NewClientNegotiator(f.c.serializer, f.group.APIVersion()))
	if !began() {
		err = ctx.Err()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

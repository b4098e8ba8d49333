package figure_test

import (
	"reflect"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/podkeel/podkeel/internal/figure"
	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/workqueue"
)

// methodName returns the name of a method, without its type. So the figure follows a method that is renamed.
func methodName(method any) string {
	name := goruntime.FuncForPC(reflect.ValueOf(method).Pointer()).Name()
	return name[strings.LastIndex(name, ".")+1:]
}

// typeAndMethodName returns the name of a method after the name of its type, for methods of the same name.
func typeAndMethodName(method any) string {
	name := goruntime.FuncForPC(reflect.ValueOf(method).Pointer()).Name()
	_, name, _ = strings.Cut(name[strings.LastIndex(name, "/")+1:], ".")
	return strings.NewReplacer("(*", "", ")", "").Replace(name)
}

// TestFigure_Flow draws the parts through which a pod passes. Each arrow is a call, from the caller to the called part.
func TestFigure_Flow(t *testing.T) {
	p := figure.New(970, 420, "The flow of a pod through the parts of a node", figure.Paper)
	at := func(x, y int) figure.Point { return figure.Point{X: x, Y: y} }
	part := func(x, y int, fill, name, pkg string) {
		p.DrawBox(x, y, 150, 50, fill, figure.Dim)
		p.DrawText(x+75, y+22, figure.Ink, name, `font-weight="600" text-anchor="middle"`)
		p.DrawText(x+75, y+39, figure.Dim, pkg, `font-size="11" text-anchor="middle"`)
	}
	part(20, 20, "#f6f8fa", "sources", "podmanager/source")
	part(20, 160, "#cfe5fb", "sync loop", "syncloop")
	part(280, 20, "#ffe9b8", "work queue", "workqueue")
	part(280, 160, "#cdeed8", "pod workers", "podworkers")
	part(280, 350, "#f6f8fa", "pod manager", "podmanager")
	part(540, 20, "#f6f8fa", "status store", "podmanager/status")
	part(540, 160, "#e7dcf8", "PodSyncer", "podworkers/podsync")
	part(540, 260, "#cfe5fb", "PLEG", "pleg")
	part(800, 160, "#d5f0f2", "runtime", "yours, or runtime/cri")

	arrow := func(x, y int, label string, points ...figure.Point) {
		p.DrawArrow(figure.Dim, points...)
		p.DrawText(x, y, figure.Ink, label, `font-size="12"`)
	}
	arrow(103, 118, "1 "+typeAndMethodName((*source.Mux).TakeAll), at(95, 160), at(95, 70))
	arrow(68, 369, "2 "+methodName(podmanager.Manager.AddPod), at(60, 210), at(60, 375), at(280, 375))
	arrow(180, 176, "3 "+methodName((*podworkers.Workers).UpdatePod), at(170, 185), at(280, 185))
	arrow(345, 240, "4 "+methodName(runtime.StatusCache.NewerThan), at(335, 210), at(335, 275), at(540, 275))
	arrow(438, 178, "5 "+methodName(podworkers.PodSyncer.SyncPod), at(430, 185), at(540, 185))
	arrow(696, 178, "6 "+methodName(runtime.Runtime.StartContainer), at(690, 185), at(800, 185))
	arrow(623, 118, "7 "+methodName((*status.Store).SetPodStatus), at(615, 160), at(615, 70))
	arrow(623, 239, "8 "+methodName((*pleg.PLEG).RequestRelist), at(615, 210), at(615, 260))
	arrow(265, 118, "9 "+methodName(workqueue.WorkQueue.EnqueueAt), at(350, 160), at(350, 70))
	arrow(388, 118, "10 "+methodName(workqueue.WorkQueue.GetWork), at(380, 160), at(380, 70))
	arrow(700, 279, "11 "+methodName(runtime.Runtime.ListPods)+", "+methodName(runtime.Runtime.PodStatus), at(690, 285), at(875, 285), at(875, 210))
	arrow(130, 294, "12 "+typeAndMethodName(pleg.Subscription.TakeAll), at(120, 210), at(120, 300), at(540, 300))
	p.DrawText(540, 350, figure.Dim, "An arrow is a call, from the caller to the called part.", `font-size="12"`)
	p.DrawText(540, 368, figure.Dim, "1-8: a new pod starts. 9, 10: its worker syncs it again later.", `font-size="12"`)
	p.DrawText(540, 386, figure.Dim, "11, 12: an exit reaches the loop, which continues with 3.", `font-size="12"`)
	figure.AssertFile(t, "flow.svg", p)
}

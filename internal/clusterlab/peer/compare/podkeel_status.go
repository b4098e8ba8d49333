//go:build peer

package main

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/podkeel/podkeel/podmanager/status"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
	"github.com/podkeel/podkeel/syncloop/cluster/statussink"
)

// podkeelStatuses is a status.Store, perhaps with a status.Sender.
type podkeelStatuses struct {
	*status.Store
	stop_ func()
}

func (podkeelDriver) newStatuses() statuses {
	return &podkeelStatuses{status.New(status.Config{Log: discardLog()}), func() {}}
}

func (podkeelDriver) newSender(url string, pods []*v1.Pod) statuses {
	store := status.New(status.Config{Log: discardLog()})
	c, err := client.New(&rest.Config{Host: url}, "node")
	exitOnError(err)
	sink, err := statussink.New(statussink.Config{Pods: c.Pods(), Log: discardLog()})
	exitOnError(err)
	for _, pod := range pods {
		sink.Observe(pod)
	}
	sender, err := status.NewSender(status.SenderConfig{Store: store, Sink: sink, Log: discardLog()})
	exitOnError(err)
	sink.SetResend(sender.Resend, sender.ResendNow)
	stop := startRun(sender.Run)
	return &podkeelStatuses{store, func() { stop(); c.Reconnect() }}
}

func (s *podkeelStatuses) setStatus(pod *v1.Pod, status v1.PodStatus) { s.SetPodStatus(pod, status) }
func (s *podkeelStatuses) stopSending()                               { s.stop_() }

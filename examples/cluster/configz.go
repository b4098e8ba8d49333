package main

import (
	"cmp"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

// jsonObject is a JSON object.
type jsonObject = map[string]any

// effectiveConfig returns the configuration in use as a KubeletConfiguration, for the path /configz. It has
// only fields that have an effect on this program, and no secrets.
func (o *options) effectiveConfig(c *node.Config) jsonObject {
	collect := c.Images.GC.Complete()
	size := resource.NewQuantity(cmp.Or(c.Logs.MaxBytes, policy.DefaultLogMaxBytes), resource.BinarySI)
	config := jsonObject{
		"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1",
		"enableServer": o.port != 0, "address": o.address, "port": o.port,
		"authentication": jsonObject{
			"anonymous": jsonObject{"enabled": false}, "webhook": jsonObject{"enabled": true}, "x509": jsonObject{"clientCAFile": o.clientCA},
		},
		"authorization": jsonObject{"mode": "Webhook"},
		"syncFrequency": cmp.Or(c.Sync.Resync, backoff.DefaultResync).String(),
		"registerNode":  true, "maxPods": c.Scheduling.MaxPods,
		"nodeStatusUpdateFrequency": nodestatus.Period.String(), "nodeStatusReportFrequency": nodestatus.ReportPeriod.String(),
		"nodeLeaseDurationSeconds": int(nodestatus.LeaseDuration / time.Second),
		"imageMinimumGCAge":        collect.MinAge.String(), "imageMaximumGCAge": collect.MaxAge.String(),
		"imageGCHighThresholdPercent": collect.HighThresholdPercent, "imageGCLowThresholdPercent": collect.LowThresholdPercent,
		"serializeImagePulls": false, "maxParallelImagePulls": cmp.Or(c.Images.MaxPulls, images.DefaultMaxPulls),
		"containerLogMaxSize": size.String(), "containerLogMaxFiles": cmp.Or(c.Logs.MaxFiles, policy.DefaultLogMaxFiles),
		"crashLoopBackOff": jsonObject{"maxContainerRestartPeriod": cmp.Or(c.Containers.CrashLoop.Max, backoff.DefaultCrashLoopMax).String()},
	}
	if len(o.taints) > 0 {
		config["registerWithTaints"] = append([]v1.Taint(nil), o.taints...)
	}
	if len(c.Containers.DNS.ClusterDNS) > 0 {
		config["clusterDNS"] = c.Containers.DNS.ClusterDNS
	}
	for field, value := range map[string]string{
		"staticPodPath": o.manifests, "tlsCertFile": o.certFile, "tlsPrivateKeyFile": o.keyFile,
		"clusterDomain": c.Containers.DNS.ClusterDomain, "podLogsDir": c.Logs.Root,
	} {
		if value != "" {
			config[field] = value
		}
	}
	if c.Eviction.Signals != nil {
		maps.Copy(config, o.eviction.ConfigFields())
	}
	maps.Copy(config, o.reserved.Fields())
	if o.runtime == "cri" {
		config["containerRuntimeEndpoint"] = o.endpoint
	}
	return config
}

// name:    list_policies
// does:    Every policy version that was loaded into this graph.
// access:  read
// params:  none
// returns: policyId STRING
// order:   policyId
// bound:   one row for each loaded version
// plan:    NodeByLabelScan
MATCH (p:Policy)
RETURN p.policyId AS policyId
ORDER BY policyId

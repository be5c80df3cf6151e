// name:    get_root
// does:    Whether a walk may start at an identity: whether the caller may see the record, or it is a tombstone that a
//          deletion of the caller's tenant left.
// access:  read
// params:  identity STRING, tenantId STRING, tenants LIST<STRING>, purpose STRING, grants LIST<STRING>,
//          states LIST<STRING>
// returns: isTombstone BOOLEAN
// bound:   at most one row
// plan:    NodeUniqueIndexSeek
MATCH (n:Identity {identity: $identity})
WHERE
  CASE WHEN n:Tombstone
    THEN EXISTS {
      (n)<-[:OUTCOME_FOR]-(:Outcome)<-[:HAS_OUTCOME]-(:Request {tenantId: $tenantId})
    }
    ELSE n.tenantId IN $tenants AND n.state IN $states AND $purpose IN n.purposes
      AND any(grant IN $grants WHERE grant IN n.permissions)
  END
RETURN n:Tombstone AS isTombstone

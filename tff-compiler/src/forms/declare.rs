//! What every form has: its type, its parts by their roles, and a constructor that checks them.

/// Declares a form: its parts in their order, each with what it is. The name of a part is its role.
///
/// The form itself adds `check`, which [`from_parts`](super::MapReduceForm::from_parts) calls.
macro_rules! form {
    ($(#[$about:meta])* $form:ident { $($(#[$what:meta])* $role:ident,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub struct $form {
            ty: tff_types::Type,
            $($role: tff_ir::Comp,)+
        }

        impl $form {
            /// The roles of the parts, in a fixed order.
            pub const ROLES: [&'static str; [$(stringify!($role)),+].len()] = [$(stringify!($role)),+];

            /// The form of a computation of type `ty`, of parts that come from elsewhere; `part` gives the
            /// part of each role.
            ///
            /// # Errors
            /// What `part` says, and [`Problem`](crate::Problem) where a part is not what it must be, or what
            /// one returns is not what another one takes.
            pub fn from_parts<E: From<crate::Problem>>(
                ty: tff_types::Type,
                mut part: impl FnMut(&'static str) -> Result<tff_ir::Comp, E>,
            ) -> Result<Self, E> {
                let form = Self { ty, $($role: part(stringify!($role))?,)+ };
                form.check()?;
                Ok(form)
            }

            /// The type of the computation that the form was made of.
            #[must_use]
            pub const fn ty(&self) -> &tff_types::Type {
                &self.ty
            }

            $($(#[$what])*
            #[must_use]
            pub const fn $role(&self) -> &tff_ir::Comp {
                &self.$role
            })+

            /// The parts by their roles, in a fixed order.
            #[must_use]
            pub const fn parts(&self) -> [(&'static str, &tff_ir::Comp); Self::ROLES.len()] {
                [$((stringify!($role), &self.$role)),+]
            }

            /// The form with each part rewritten to one of the same type.
            #[allow(dead_code, reason = "not every form rewrites its parts")]
            fn try_map<E>(
                self,
                mut rewrite: impl FnMut(&'static str, tff_ir::Comp) -> Result<tff_ir::Comp, E>,
            ) -> Result<Self, E> {
                Ok(Self { ty: self.ty, $($role: rewrite(stringify!($role), self.$role)?,)+ })
            }
        }
    };
}
pub(super) use form;
